from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

BOUNDED = Q(stop_unparsed__isnull=True) | Q(stop_unparsed__gte=0.05, stop_unparsed__lte=1.0)


def clear(apps, schema_editor):
    """A NaN, which PostgreSQL holds to be above every number, came in over the API; nothing could be decided by it."""
    apps.get_model("judges", "Sweep").objects.exclude(BOUNDED).update(stop_unparsed=None)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0002_label_append_only"),
        ("judges", "0003_thoughts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.RunPython(clear, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="sweep",
            constraint=models.CheckConstraint(condition=BOUNDED, name="sweep_stop_unparsed_bounded"),
        ),
    ]
