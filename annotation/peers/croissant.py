"""Croissant: a dataset's metadata as JSON-LD, with the vocabulary of responsible AI.

Specifications: http://mlcommons.org/croissant/1.0 and http://mlcommons.org/croissant/RAI/1.0. What is not known is left
out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CONFORMS_TO = ("http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0")
SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{1,60}\Z")
DATA_TYPES = {
    "text": "sc:Text",
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "time": "sc:DateTime",
    "json": "sc:Text",
    "integers": "sc:Integer",
    "texts": "sc:Text",
    "money": "sc:Float",
}
LISTS = ("integers", "texts")
CONTEXT: Mapping[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/", "citeAs": "cr:citeAs", "column": "cr:column", "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract", "field": "cr:field",
    "fileObject": "cr:fileObject", "fileProperty": "cr:fileProperty", "fileSet": "cr:fileSet", "format": "cr:format",
    "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath", "key": "cr:key",
    "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path", "recordSet": "cr:recordSet",
    "references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated", "replace": "cr:replace",
    "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField", "transform": "cr:transform",
}  # fmt: skip
RAI = (
    "dataCollection", "dataCollectionType", "dataCollectionMissingData", "dataCollectionRawData",
    "dataCollectionTimeFrame", "dataPreprocessingProtocol", "dataAnnotationProtocol", "dataAnnotationPlatform",
    "dataAnnotationAnalysis", "annotationsPerItem", "annotatorDemographics", "machineAnnotationTools", "dataBiases",
    "dataUseCases", "dataLimitations", "dataSocialImpact", "personalSensitiveInformation",
    "dataReleaseMaintenancePlan",
)  # fmt: skip
"""The properties of the RAI vocabulary that are filled, where something is known."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a dataset: name of its table, path, hash, size, and (name, type, meaning) of its columns."""

    name: str
    path: str
    sha256: str
    size: int
    rows: int
    columns: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """What is known of a dataset; empty where it is not. `rai` is by the names of `RAI`, a text or several."""

    name: str
    title: str
    version: str
    description: str = ""
    licence: str = ""
    citation: str = ""
    url: str = ""
    language: str = ""
    creators: Sequence[str] = ()
    created: str = ""
    rai: Mapping[str, str | Sequence[str]] | None = None


def licence_address(licence: str) -> str:
    """The address of a licence that is named by its SPDX identifier; else what was given."""
    if "://" in licence or not SPDX.match(licence) or not re.search(r"\d", licence):
        return licence
    return f"https://spdx.org/licenses/{licence}"


def croissant_document(facts: DatasetFacts, files: Sequence[DataFile]) -> dict[str, Any]:
    """The content of `croissant.json`, which lies beside the folder of the files."""
    known = {
        "description": facts.description or facts.title,
        "license": licence_address(facts.licence),
        "citeAs": facts.citation,
        "url": facts.url,
        "inLanguage": facts.language,
        "creator": [{"@type": "sc:Person", "name": name} for name in facts.creators],
        "dateCreated": facts.created,
        "version": facts.version,
    }
    responsible = {f"rai:{name}": (facts.rai or {}).get(name) for name in RAI}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        "name": facts.title,
        "alternateName": facts.name,
        **{name: value for name, value in (known | responsible).items() if value},
        "distribution": [_file_object(file) for file in files],
        "recordSet": [_record_set(file) for file in files],
    }


def _file_object(file: DataFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.name,
        "contentUrl": file.path,
        "contentSize": f"{file.size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _record_set(file: DataFile) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": file.name,
        "name": file.name,
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{file.name}/{name}",
                "name": name,
                "description": about,
                "dataType": DATA_TYPES[type],
                **({"repeated": True} if type in LISTS else {}),
                "source": {"fileObject": {"@id": file.path}, "extract": {"column": name}},
            }
            for name, type, about in file.columns
        ],
    }
