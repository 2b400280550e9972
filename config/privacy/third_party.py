"""Which fields of the models of libraries hold personal data, as the applications' `personal_data.py` say of theirs."""

from web.privacy import ModelData

MODELS = (
    ModelData(
        "admin.LogEntry",
        personal={"audit": "action_time,user,object_repr,change_message"},
        other="id,content_type,object_id,action_flag",
    ),
    ModelData("auth.Group", personal={}, other="id,name"),
    ModelData("auth.Permission", personal={}, other="id,name,content_type,codename"),
    ModelData("contenttypes.ContentType", personal={}, other="id,app_label,model"),
    ModelData(
        "sessions.Session",
        personal={"staff_accounts": "session_key,session_data"},
        other="expire_date",
    ),
)
