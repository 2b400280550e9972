"""The systems of a dataset, ranked: from the cache where the same was computed lately."""

from django.core.cache import cache

from annotation.models import Dataset, User
from metaeval.reports.systems import SystemsReport, systems_report
from metaeval.selectors.systems import system_inputs
from metaeval.services.reports import CACHE_SECONDS
from web.version import software_version


def systems_get(*, dataset: Dataset, reader: User | None = None) -> SystemsReport:
    """Rank the systems of a dataset.

    Labels that `reader` may not see do not count.

    Raises
    ------
    ReportError
        There is nothing to rank.
    """
    inputs = system_inputs(dataset=dataset, reader=reader)
    inputs_hash = inputs.hash()
    key = f"systems:{software_version()}:{inputs_hash}"
    content = cache.get(key)
    if content is not None:
        return SystemsReport.read(content)
    report = systems_report(inputs, inputs_hash=inputs_hash)
    cache.set(key, report.as_json(), CACHE_SECONDS)
    return report
