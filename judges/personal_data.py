"""Which fields of the models of judges hold personal data; `web.privacy` says what each category is for."""

from web.privacy import ModelData

MODELS = (
    ModelData(
        "Anchor",
        personal={},
        other="id,anchors,item,order,status,choice,value",
    ),
    ModelData(
        "AnchorSet",
        personal={"staff_actions": "created_by"},
        other="id,judge,dataset,seed,repeats,tolerance,budget,every_days,created_at,retired_at",
    ),
    ModelData(
        "AnchorVerdict",
        personal={"content": "raw_text"},
        other=(
            "id,sweep,item,order,status,choice,probability,value,requests,cost,"
            "latency_ms,answered_by,created_at"
        ),
    ),
    ModelData(
        "BudgetReservation",
        personal={},
        other="id,sweep,owner,is_money,amount,lease_until",
    ),
    ModelData(
        "DatasetImport",
        personal={"uploads": "file", "staff_actions": "requested_by"},
        other=(
            "id,name,size,key,state,is_confirmed,step,n_done,n_total,owner,lease_until,"
            "attempts,found,errors,notes,created_at,finished_at,dataset,dataset_name,"
            "title,split,licence,criteria,mapping,skip_bad_rows,is_new_version,n_errors"
        ),
    ),
    ModelData(
        "Endpoint",
        personal={},
        other=(
            "id,name,kind,base_url,addresses,queue,options,api_key_env,is_local,"
            "open_weights,structured,in_batches,takes_images,max_concurrency,timeout_seconds,"
            "price_input,price_output,prices,requests_per_minute,tokens_per_minute,created_at"
        ),
    ),
    ModelData(
        "ExportJob",
        personal={"staff_actions": "requested_by", "exports": "file"},
        other=(
            "id,dataset,study,what,format,options,key,state,step,n_done,n_total,owner,"
            "lease_until,attempts,error,size,notes,created_at,finished_at,expires_at"
        ),
    ),
    ModelData(
        "FileUpload",
        personal={"staff_actions": "user", "uploads": "name,file"},
        other=("id,dataset,size,chunk,n_stored,digest,key,said,is_taken,import_pk,created_at,moved_at"),
    ),
    ModelData(
        "Generation",
        personal={"content": "text,thought"},
        other=(
            "id,contestant,instruction,sample,status,finish_reason,cost,latency_ms,answered_by,created_at"
        ),
    ),
    ModelData(
        "Judge",
        personal={"staff_actions": "created_by"},
        other="id,name,endpoint,backend,model,strategy,spec,fingerprint,notes,created_at",
    ),
    ModelData(
        "JudgeMember",
        personal={},
        other="id,judge,member,key",
    ),
    ModelData(
        "JudgeModel",
        personal={},
        other="id,judge,role,endpoint,model",
    ),
    ModelData(
        "JudgeUpload",
        personal={"staff_actions": "user", "uploads": "files"},
        other="id,name,found,key,created_at",
    ),
    ModelData(
        "Judgment",
        personal={"content": "raw_text,thought"},
        other=(
            "id,judge,item,order,sample,status,choice,probability,value,source,requests,"
            "prompt_tokens,completion_tokens,reasoning_tokens,cost,latency_ms,answered_by,"
            "created_at"
        ),
    ),
    ModelData(
        "ModelRequest",
        personal={"requests_to_models": "payload,answer"},
        other=("hash,form,text,kind,endpoint,model,state,owner,attempts,error,created_at,finished_at"),
    ),
    ModelData(
        "PromptText",
        personal={"staff_actions": "created_by"},
        other="id,kind,name,version,source,sha,based_on,notes,created_at",
    ),
    ModelData(
        "RequestBatch",
        personal={},
        other=(
            "key,run,endpoint,asked,state,remote,is_certain,rejected,n_requests,n_done,"
            "n_failed,n_stored,is_cancelling,failures,error,owner,lease_until,look_at,"
            "created_at,submitting_at,submitted_at,ended_at"
        ),
    ),
    ModelData(
        "RequestForm",
        personal={},
        other=(
            "id,digest,endpoint,kind,model,has_choices,content,n_answers,latency_ms,"
            "characters,prompt_tokens,n_completions,completion_tokens"
        ),
    ),
    ModelData(
        "RequestText",
        personal={},
        other="digest,block,place",
    ),
    ModelData(
        "RunRange",
        personal={},
        other="id,run,first,last,owner",
    ),
    ModelData(
        "Sweep",
        personal={"staff_actions": "created_by"},
        other=(
            "id,name,orders,seed,samples,categories,subsets,sample_size,budget,"
            "budget_tokens,budget_minutes,priority,stop_unparsed,anchors,state,message,"
            "created_at,queued_at,started_at,resumed_at,worked_seconds,finished_at"
        ),
    ),
    ModelData(
        "SweepRun",
        personal={},
        other=(
            "id,sweep,judge,dataset,queue,n_total,n_done,n_reused,n_unparsed,n_failed,"
            "n_requests,n_shared,n_tokens,n_started,cost,owner,lease_until,started_at,"
            "finished_at,last_error"
        ),
    ),
    ModelData(
        "TextBlock",
        personal={"requests_to_models": "body"},
        other="id",
    ),
    ModelData(
        "VerdictImport",
        personal={"uploads": "file", "staff_actions": "requested_by"},
        other=(
            "id,name,size,key,state,is_confirmed,step,n_done,n_total,owner,lease_until,"
            "attempts,found,errors,notes,created_at,finished_at,dataset,format"
        ),
    ),
    ModelData(
        "Worker",
        personal={},
        other="name,host,lease_until",
    ),
    ModelData(
        "WorkerHeartbeat",
        personal={},
        other="name,queues,n_processes,version,started_at,beat_at,stopped_at",
    ),
)
