"""Studies may submit on choice, require a comment, and show differences and word counts. Those that exist don't."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0018_item_order_index'),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='require_comment',
            field=models.BooleanField(db_default=False, default=False, help_text='The comment with every answer is required.'),
        ),
        migrations.AddField(
            model_name='study',
            name='show_differences',
            field=models.BooleanField(db_default=False, default=False, help_text='Of pairs: people can mark the words in which the two answers differ.'),
        ),
        migrations.AddField(
            model_name='study',
            name='show_word_counts',
            field=models.BooleanField(db_default=False, default=False, help_text='People see how many words each answer has, which biases them toward long ones.'),
        ),
        migrations.AddField(
            model_name='study',
            name='submit_on_choice',
            field=models.BooleanField(db_default=False, default=False, help_text='Of pairs: a choice submits the answer, and can be undone.'),
        ),
    ]
