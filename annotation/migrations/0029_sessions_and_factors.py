# Sessions of staff, and the mark by which all of a person end.

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0028_signals'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='session_mark',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=32),
        ),
        migrations.CreateModel(
            name='StaffSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session_key', models.CharField(max_length=64, unique=True)),
                ('device', models.CharField(help_text='Browser and system, without versions.', max_length=60)),
                ('network', models.CharField(blank=True, help_text='Of the client: /24 of IPv4, /48 of IPv6; not the whole address.', max_length=45)),
                ('started_at', models.DateTimeField(auto_now_add=True, db_index=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='staff_sessions', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-started_at'],
            },
        ),
    ]
