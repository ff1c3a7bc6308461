/// What each metric means: the HELP lines of `/metrics`, by name. `deploy/README.md` has the same; a test compares them.
enum MetricHelp {
    static let texts: [String: String] = [
        "coach_provider_circuit_open":
            "1 while the model is tried after the others and has failed within ten minutes: five failures in a row, no money, no key that "
            + "is accepted, or a model that the provider does not know",
        "coach_provider_probes_total": "calls that tried a model whose circuit was open",
        "coach_provider_requests_total":
            "requests that were answered (the first text came), have failed, or were rejected for a fault that the provider finds in them; "
            + "also those that another provider's answer healed",
        "coach_provider_keys_refused_total":
            "keys that were refused, accounts without money and models that the provider does not know: an operator has to look",
        "coach_hedges_started_total": "second calls that began because this model was late",
        "coach_hedges_won_total": "second calls that this model answered, the first having failed or been slower",
        "gen_ai_client_token_usage":
            "tokens of all billed calls (answers, judges, summaries, failed-over ones), input and output; its _sum is the total",
        "gen_ai_client_operation_duration_seconds":
            "from a request to a model to the end of its answer, also of those that failed, were cancelled, or that another provider's "
            + "answer healed; of answers, judges and summaries. error_type is the kind of the fault: refused, no_first_token, stalled, "
            + "cut, error_frame, time_limit or too_long",
        "gen_ai_server_time_to_first_token_seconds": "from a turn's request to the model's first released text",
        "gen_ai_server_time_per_output_token_seconds":
            "from a model's first released text to the end of its answer, by the tokens after the first",
        "coach_turns_total": "turns that ended, complete, stopped, interrupted or failed; the domain is none for the generic answer",
        "coach_turn_duration_seconds": "from a turn's request to its end",
        "coach_time_to_first_token_seconds": "from a turn's request to its first released text, of all models",
        "coach_running_turns": "turns that run on this instance",
        "coach_streams_total":
            "streams to clients that ended: complete, handedOver (the client was told to resume elsewhere), gone (its connection "
            + "broke), stalled (it read nothing)",
        "coach_requests_total": "answered requests by the pattern of their route and the status",
        "coach_cost_nanodollars_total": "cost of all billed calls",
        "coach_unpriced_turns_total": "turns, and summaries, with a call without a price",
        "coach_implausible_usage_total":
            "calls billed by an estimate because the reported usage cannot be true: more than four times the estimated output and "
            + "max_output_tokens of the model, or than the prompt's bytes and 8,192 tokens; or 0",
        "coach_refused_receipts_total": "turns that failed because the database refused their receipt for good",
        "coach_refused_requests_total":
            "requests refused by a limit: requests of a user in a minute, quota of messages, items (a fixed number of rows of an account), "
            + "budget, user_turns and instance_turns at once, streams, personas, address (without a token)",
        "coach_database_connections":
            "open connections; short for turns, checkpoints for theirs and leases, resources for what is read and edited, "
            + "long for figures and maintenance, texts for text of other instances' turns, intake for webhooks",
        "coach_database_connections_in_use": "connections with work",
        "coach_database_waiting_requests": "requests that wait for a connection",
        "coach_reactor_lag_seconds":
            "how late the thread of a pool runs what is submitted, once a second; that of short also carries streams and calls of "
            + "providers",
        "coach_spool_files": "receipts, and records of model calls, on disk that wait for the database",
        "coach_spool_bytes": "size of the receipts and records of model calls that wait on disk",
        "coach_figures_lag_seconds": "how far the figures of operators are behind the ledger, on the instance that folds them",
        "coach_alert_firing": "1 while the alert of the rule fires",
        "coach_spans_dropped_total": "spans that the collector did not take, or that did not fit into the queue",
        "coach_ready": "1 while the instance should get traffic, as /readyz says; 0 also while it drains",
        "coach_log_lines_dropped_total": "log lines that were lost because nobody read standard error or it could not be written",
        "process_cpu_seconds_total": "processor time of the process",
        "process_resident_memory_bytes": "memory of the process",
        "process_open_fds": "open files and sockets of the process",
        "process_max_fds": "the limit of open files and sockets",
        "process_start_time_seconds": "when the process started, in seconds since 1970",
        "coach_safety_turns_total": "turns of tier 1 and above, after fusion with the stored state",
        "coach_safety_replaced_total":
            "sentences of answers that the output guard replaced: phone, method, secrecy, identity and the other kinds of "
            + "output-guard.json",
        "coach_encoder_messages_total":
            "messages for the encoder, and what became of their tier: raised, lowered, kept; a fragment may count twice",
        "coach_large_encoder_messages_total":
            "messages that the large encoder was to read: read, or no_time because others would have waited too long, or an "
            + "ordinary one had no time saved up",
        "coach_encoder_refused_total":
            "messages that were not encoded: full (too many pending, or eight of the same user), late, over_budget (ordinary ones "
            + "above their share, or those of one user while others write); danger=\"open\" should stay 0, but for a client that sends "
            + "many messages at once, or many long ones while others write",
        "coach_encoder_duration_seconds":
            "from the first assessment to that of the encoder; a turn with an ordinary message begins meanwhile",
        "coach_judge_verdicts_total":
            "looks of a judge: raised, kept, none (not asked because the call could not be recorded, late, refused, or not a "
            + "verdict)",
        "coach_judge_duration_seconds": "how long turns waited for the judge",
        "coach_jobs_ready": "jobs that are due and wait; of the whole database, read every 15 s, the same on every instance",
        "coach_jobs_oldest_seconds":
            "for how long the oldest job that waits has been due; above a minute the instances do not keep up, or none has a "
            + "handler for the kind",
        "coach_jobs_dead": "dead jobs, and removals of accounts that failed 20 times",
        "coach_jobs_total":
            "runs that ended on this instance: done, retried, dead, returned (the instance shut down), lost (another instance took "
            + "the job)",
    ]
}
