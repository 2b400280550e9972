"""Which fields of the models of annotation hold personal data; `web.privacy` says what each category is for."""

from web.privacy import ModelData

MODELS = (
    ModelData(
        "AccessGrant",
        personal={"staff_accounts": "user,granted_by,created_at"},
        other="id,study,dataset,team,role",
    ),
    ModelData(
        "Account",
        personal={"account": "annotator,email,password,created_at,last_login"},
        other="id",
    ),
    ModelData(
        "Adjudication",
        personal={"staff_actions": "expert,value,note,created_at"},
        other="id,study,item,shown_order,supersedes",
    ),
    ModelData(
        "AdjudicationRequest",
        personal={"staff_actions": "by,created_at"},
        other="id,study,item",
    ),
    ModelData(
        "Annotator",
        personal={
            "identity": "public_id,source,external_id",
            "preferences": "language",
            "participation": "created_at",
        },
        other="id,is_simulated",
    ),
    ModelData(
        "AnswerSignals",
        personal={
            "signals": (
                "assignment,first_ms,hidden,hidden_ms,pointer,touch,keys,scrolled,pastes,pasted,gaps,gap_ms,"
                "gap_spread_ms,typed,keyless,untrusted,automated,decoy"
            )
        },
        other="id",
    ),
    ModelData(
        "ApiToken",
        personal={"staff_accounts": "user,name,created_at,last_used_at"},
        other="id,prefix,digest,scopes,password_mark,expires_at,revoked_at",
    ),
    ModelData(
        "Aspect",
        personal={},
        other="id,instruction,key,text,position,parent,metadata",
    ),
    ModelData(
        "Assignment",
        personal={
            "work": (
                "study_item,enrollment,role,state,shown_order,draft,leased_at,submitted_at,release_reason"
            )
        },
        other="id,ahead,expires_at",
    ),
    ModelData(
        "AuditEvent",
        personal={"audit": "at,actor,actor_key,via,network,action,subject,subject_key,before,after"},
        other="id",
    ),
    ModelData(
        "AuditRedaction",
        personal={},
        other="id,event,is_done,at",
    ),
    ModelData(
        "Bonus",
        personal={"pay": "enrollment,amount,reason,created_at", "staff_actions": "by"},
        other="id,nonce",
    ),
    ModelData(
        "ConsentRecord",
        personal={"consent": "enrollment,event,text,sha256,language,at"},
        other="id",
    ),
    ModelData(
        "ConsentText",
        personal={},
        other=(
            "id,study,version,text,sha256,fingerprint,labels_kept,retention_days,retention_action,created_at"
        ),
    ),
    ModelData(
        "Criterion",
        personal={},
        other="id,dataset,key,question,options,scale,position",
    ),
    ModelData(
        "Dataset",
        personal={"staff_actions": "owner"},
        other=(
            "id,name,title,description,source,licence,documentation,categories,mapping,"
            "split,version,created_at,is_staged"
        ),
    ),
    ModelData(
        "DatasetImage",
        personal={"content": "digest"},
        other="id,dataset,width,height,size",
    ),
    ModelData(
        "DatasetVersion",
        personal={"staff_actions": "created_by"},
        other=(
            "id,dataset,number,source,created_at,items_added,items_changed,items_removed,"
            "labels_added,rows_left_out,file_hash,counted"
        ),
    ),
    ModelData(
        "Delivery",
        personal={"staff_actions": "payload"},
        other="id,webhook,event,subject,message_id,state,tries,next_at,created_at",
    ),
    ModelData(
        "DeliveryAttempt",
        personal={},
        other="id,delivery,at,status,error,duration_ms",
    ),
    ModelData(
        "Enrollment",
        personal={
            "participation": (
                "study,annotator,invitation,stage,resume_token,guidelines_read_at,"
                "guidelines_read_version,screened_out_by,retry_at,qualification_score,"
                "completion_code,finished_at,left_at,n_accepted,n_claimed,warned_at,"
                "suspended_at,suspended_because,anonymized_on,created_at"
            ),
            "identity": "platform_link,platform_session,platform_status",
            "eligibility": "platform_data,eligibility",
            "device": "device",
            "consent": "consented_at,consent_sha256",
        },
        other="id,cursor",
    ),
    ModelData(
        "Erasure",
        personal={"erasures": "person,study_key,kind,texts_kept,why,at"},
        other="id",
    ),
    ModelData(
        "ErasureRequest",
        personal={"requests": "enrollment,state,asked_at,decided_at,answer", "staff_actions": "decided_by"},
        other="id",
    ),
    ModelData(
        "GuidelinesRevision",
        personal={},
        other="id,study,version,text,created_at",
    ),
    ModelData(
        "IdempotentAnswer",
        personal={"staff_actions": "body"},
        other="id,token,key,request_hash,status,created_at",
    ),
    ModelData(
        "Instruction",
        personal={"content": "text,context,conversation,reference,metadata"},
        other="id,dataset,external_id,category,subset,since_version",
    ),
    ModelData(
        "Intervention",
        personal={
            "quality": "enrollment,action,reason,text,n_labels,read_at,created_at",
            "staff_actions": "by",
        },
        other="id,nonce",
    ),
    ModelData(
        "Invitation",
        personal={"invitations": "note"},
        other="id,study,token,max_annotators,expires_at,revoked_at,created_at",
    ),
    ModelData(
        "Item",
        personal={"content": "explanation,metadata"},
        other="id,dataset,instruction,external_id,kind,position,gold,since_version,until_version",
    ),
    ModelData(
        "ItemNote",
        personal={"staff_actions": "author,text,created_at,edited_at"},
        other="id,item,nonce",
    ),
    ModelData(
        "ItemReport",
        personal={"work": "study_item,enrollment,reason,note,created_at"},
        other="id,resolved_at,resolution",
    ),
    ModelData(
        "ItemResponse",
        personal={},
        other="id,item,response,position",
    ),
    ModelData(
        "Label",
        personal={
            "work": (
                "item,annotator,study,assignment,value,choice,shown_order,evidence,comment,"
                "pasted_chars,source,active_ms,wall_ms,created_at"
            ),
            "quality": "is_surplus,is_set_aside,check_score",
        },
        other="id,supersedes,role,kind,guidelines_version,probability",
    ),
    ModelData(
        "PlatformEvent",
        personal={"identity": "event_id,session,status,outcome,received_at"},
        other="id,link,channel",
    ),
    ModelData(
        "PlatformLink",
        personal={},
        other=(
            "id,study,platform,token,external_study_id,completed_code,screened_out_code,"
            "no_consent_code,require_signed_token,created_at,closed_at"
        ),
    ),
    ModelData(
        "QualificationAnswer",
        personal={
            "quality": (
                "enrollment,question,attempt,value,shown_order,is_correct,n_judgments,n_within,created_at"
            )
        },
        other="id",
    ),
    ModelData(
        "QualificationAttempt",
        personal={"quality": "enrollment,test,number,started_at,finished_at,n_right,accuracy,passed"},
        other="id",
    ),
    ModelData(
        "QualificationQuestion",
        personal={},
        other="id,study,part,item,position",
    ),
    ModelData(
        "Response",
        personal={"content": "text,messages"},
        other="id,instruction,external_id,system",
    ),
    ModelData(
        "StagedImport",
        personal={},
        other=(
            "id,dataset,file,key,job,claim,is_given_up,row,line,offset,n_left_out,"
            "declared,counted,created_at,moved_at"
        ),
    ),
    ModelData(
        "StaffSession",
        personal={"staff_accounts": "user,session_key,device,network,started_at"},
        other="id",
    ),
    ModelData(
        "Study",
        personal={"staff_actions": "owner"},
        other=(
            "id,categories,subset,sampling,sample_size,sample_seed,sampling_baseline,"
            "balance_categories,question,language,criteria,tie_policy,preference_points,"
            "response_sets,dimensions,reasons,require_reason,ask_comment,require_comment,"
            "submit_on_choice,show_differences,show_word_counts,evidence,allow_cannot_tell,"
            "allow_changes,overlap,items_per_annotator,lease_minutes,fetch_ahead,"
            "idle_seconds,closes_at,eligibility,training_size,training_dataset,"
            "qualification_size,qualification_rule,qualification_pass,qualification_threshold,"
            "qualification_tolerance,qualification_attempts,qualification_cooldown_minutes,"
            "qualification_valid_days,qualification_dataset,qualification_from,check_rate,"
            "check_size,check_dataset,repeat_rate,check_window,check_minimum,"
            "check_warn_below,check_suspend_below,set_aside_on_suspend,open_signup,"
            "one_per_device,max_annotators,passthrough,completion_code,pay_basis,"
            "pay_per_item,pay_per_hour,pay_for_test,pay_floor_per_hour,pay_currency,"
            "collect_signals,machine_text,labels_kept,texts_kept,erase_at_once,retention_days,retention_action,dataset,"
            "dataset_version,slug,title,kind,state,consent,guidelines,guidelines_version,"
            "is_simulated,closed_at,created_at"
        ),
    ),
    ModelData(
        "StudyItem",
        personal={},
        other="id,study,item,role,position,overlap,n_open,n_accepted,withdrawn_at,probability",
    ),
    ModelData("Team", personal={}, other="id,name,created_at"),
    ModelData(
        "TeamMember",
        personal={"staff_accounts": "user,created_at"},
        other="id,team,is_admin",
    ),
    ModelData(
        "User",
        personal={
            "staff_accounts": "password,last_login,username,first_name,last_name,email,is_active,date_joined,role"
        },
        other="id,is_superuser,is_staff,session_mark",
    ),
    ModelData(
        "Webhook",
        personal={"staff_actions": "user,name,url"},
        other="id,events,nonce,created_at,failing_since,disabled_at",
    ),
)
