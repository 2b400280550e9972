"""A process that labels, judges and stores images, one after another, until it's killed.

After each commit it says what it committed, on a line of JSON.
"""

import json
import sys
from io import BytesIO
from itertools import count

import django
from django.db import transaction
from PIL import Image


def main() -> None:
    django.setup()
    from annotation.models import DatasetImage
    from annotation.services.images import image_folder
    from judges.models import Judgment
    from tests.annotation.cast import label_make
    from tests.annotation.factories import study_make
    from tests.judges.props import judge_make

    study = study_make(pairs=20, overlap=10_000)
    items = list(study.dataset.items.order_by("position"))
    judge = judge_make()
    for k in count():
        item = items[k % len(items)]
        picture = BytesIO()
        Image.new("RGB", (8, 8), (k % 256, k // 256 % 256, 7)).save(picture, "PNG")
        image = image_folder().add(picture.getvalue())
        with transaction.atomic():
            label = label_make(study=study, item=item, choice=k % 3, comment=f"because of {k}: é, 漢, \u0001")
            judgment = Judgment.objects.create(
                judge=judge, item=item, order=k // 20 % 2, sample=k // 40, status="parsed", choice=k % 3,
                value={"choice": k % 3, "note": f"judged {k}"}, raw_text=f"Answer {k}", probability=1 / (k + 3),
            )  # fmt: skip
            DatasetImage.objects.create(
                dataset=study.dataset, digest=image.digest, width=8, height=8, size=image.size
            )
        said = {
            "label": label.pk,
            "comment": label.comment,
            "judgment": judgment.pk,
            "raw": judgment.raw_text,
        }
        sys.stdout.write(f"{json.dumps(said)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
