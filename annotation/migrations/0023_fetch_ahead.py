"""Studies may fetch items ahead: a person then has several open leases, each in a place of its own."""

from django.core.validators import MaxValueValidator
from django.db import migrations, models
from django.db.models import F, Q


def leases_ahead_release(apps, schema_editor):
    """Before these columns, a person had one open lease: what was fetched ahead goes back, as at its expiry."""
    assignments = apps.get_model("annotation", "Assignment").objects
    study_items = apps.get_model("annotation", "StudyItem").objects
    in_hand = {}
    opened = assignments.filter(state="open").order_by("leased_at", "pk")
    for pk, person, item, role in opened.values_list("pk", "enrollment_id", "study_item_id", "role"):
        if in_hand.setdefault(person, pk) == pk:
            continue
        assignments.filter(pk=pk).update(state="expired")
        if role == "work":
            study_items.filter(pk=item).update(n_open=F("n_open") - 1)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0022_languages'),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='fetch_ahead',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text='Items leased to a person beside the one in hand, for their browser to show without a connection.', validators=[MaxValueValidator(5)]),
        ),
        migrations.AddField(
            model_name='assignment',
            name='ahead',
            field=models.PositiveSmallIntegerField(db_default=0, default=0, help_text="0: given when it was asked for. Otherwise fetched ahead, in this one of the person's places."),
        ),
        migrations.RemoveConstraint(
            model_name='assignment',
            name='assignment_one_open',
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.UniqueConstraint(condition=Q(state='open'), fields=('enrollment', 'ahead'), name='assignment_one_open_a_place'),
        ),
        migrations.AddConstraint(
            model_name='assignment',
            constraint=models.CheckConstraint(condition=Q(ahead__lte=6), name='assignment_ahead_few'),
        ),
        migrations.RunPython(migrations.RunPython.noop, leases_ahead_release),
    ]
