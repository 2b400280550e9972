"""Which fields of the models of libraries hold personal data, as the applications' `personal_data.py` say of theirs."""

from web.privacy import ModelData

MODELS = (
    ModelData("account.EmailAddress", personal={"staff_accounts": "user,email,verified,primary"}, other="id"),
    ModelData(
        "account.EmailConfirmation", personal={"staff_accounts": "email_address,created,sent,key"}, other="id"
    ),
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
    ModelData(
        "mfa.Authenticator", personal={"staff_accounts": "user,type,data,created_at,last_used_at"}, other="id"
    ),
    ModelData(
        "socialaccount.SocialAccount",
        personal={"staff_accounts": "user,provider,uid,last_login,date_joined,extra_data"},
        other="id",
    ),
    ModelData(
        "socialaccount.SocialApp",
        personal={},
        other="id,provider,provider_id,name,client_id,secret,key,settings",
    ),
    ModelData(
        "socialaccount.SocialToken",
        personal={"staff_accounts": "account,token,token_secret,expires_at"},
        other="id,app",
    ),
)
