"""A study asks for preferences on 3, 5 or 7 points; until now it could ask how strong they are, which is 5."""

from django.db import migrations, models


def points_of_strength(apps, schema_editor):
    Study = apps.get_model("annotation", "Study")
    Study.objects.using(schema_editor.connection.alias).filter(ask_strength=True).update(preference_points=5)


def strength_of_points(apps, schema_editor):
    Study = apps.get_model("annotation", "Study")
    Study.objects.using(schema_editor.connection.alias).filter(preference_points__gt=3).update(ask_strength=True)


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0012_dataset_images'),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='preference_points',
            field=models.PositiveSmallIntegerField(choices=[(3, '3 points: which one is better'), (5, '5 points: slightly or much better'), (7, '7 points: slightly better, better or much better')], default=3, help_text='Of pairs: the points of the scale, one fewer where there are no ties.'),
        ),
        migrations.RunPython(points_of_strength, strength_of_points),
        migrations.RemoveField(
            model_name='study',
            name='ask_strength',
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('preference_points__in', [3, 5, 7])), name='study_preference_points_known'),
        ),
    ]
