"""Which fields of the models of metaeval hold personal data; `web.privacy` says what each category is for."""

from web.privacy import ModelData

MODELS = (
    ModelData(
        "Decision",
        personal={"staff_actions": "reason,decided_by"},
        other="id,sweep,dataset,kind,judge,evidence,selection,inputs_hash,created_at,replaced_by",
    ),
    ModelData(
        "OutsideRatings",
        personal={"staff_actions": "created_by"},
        other="id,name,title,source,licence,column,scores,inputs_hash,created_at",
    ),
    ModelData(
        "Preregistration",
        personal={"staff_actions": "created_by"},
        other="id,dataset,title,content,sha256,created_at",
    ),
    ModelData(
        "Report",
        personal={"reports": "content", "staff_actions": "created_by"},
        other="id,name,dataset,study,sweep,preregistration,inputs_hash,options,created_at",
    ),
    ModelData(
        "ReportJob",
        personal={"reports": "content", "staff_actions": "requested_by"},
        other=(
            "id,dataset,study,kind,epsilon,margin,annotators,preregistration,pass_mark,"
            "preset,dimension,page,asked,key,address,created_at,state,step,n_done,"
            "n_total,owner,lease_until,attempts,error,report,started_at,finished_at"
        ),
    ),
)
