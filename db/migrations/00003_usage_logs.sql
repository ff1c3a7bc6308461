-- The ledger of model calls. Rows are only added: a correction is another row with the difference.

create type public.usage_purpose as enum ('chat', 'judge', 'summary', 'preview');
create type public.turn_status as enum ('running', 'complete', 'stopped', 'interrupted', 'failed');
create type public.domain_source as enum ('pinned', 'persona', 'message', 'conversation', 'abstained');

create table public.usage_logs (
    -- public.users.account_id. The ledger outlives users, conversations and turns, so it refers to none of them by a foreign key.
    account_id uuid not null,
    -- The UTC day on which the turn's attempt began, on the database's clock; the same as in budgets.
    day date not null,
    turn_id uuid not null,
    attempt integer not null,
    -- Counts the calls of an attempt: 1 is that of the answer, or the last one, 2 the judge's, if there is one; from 1000 on: summaries.
    call integer not null,
    -- 0: the call was recorded before its request left, and nothing is known of it yet. Then the receipt, and corrections of it.
    revision integer not null,
    purpose public.usage_purpose not null,
    -- Source of the receipt; NULL in revision 0, and when the call failed: no provider accepted it.
    finalized_by public.finalizer,
    conversation_id uuid,
    message_id uuid,
    persona_id uuid,
    domain public.coaching_domain,
    tier text not null,
    -- NULL in revision 0.
    provider text,
    model text,
    -- Numbers are differences to the revisions before; a call's are their sums. Disjoint classes; NULL is unknown, never zero.
    input_tokens bigint,
    cached_input_tokens bigint,
    cache_write_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    -- Sums of the classes.
    tokens_in bigint,
    tokens_out bigint,
    -- NULL: nothing is known about the cost, or the model has no price.
    cost_usd numeric(20, 9),
    -- Calls whose cost is unknown: 1 when a receipt has no price, -1 when a correction brings one.
    unpriced integer not null default 0,
    -- The provider reported no usage; tokens were counted from the text.
    estimated boolean not null default false,
    -- How the turn's attempt ended, in rows of its first call after revision 0; the latest revision counts.
    status public.turn_status,
    error_code text,
    domain_confidence real,
    domain_source public.domain_source,
    time_to_first_token_ms integer,
    duration_ms integer,
    -- Readers that follow the ledger by snapshots see each transaction's rows once.
    booked_in xid8 not null default pg_current_xact_id(),
    booked_at timestamptz not null default clock_timestamp(),
    primary key (account_id, day, turn_id, attempt, call, revision)
) partition by range (day);

-- For the folder of the rollups.
create index idx_usage_logs_booked_in on public.usage_logs (booked_in);
-- For the calls of some hours. Rows are booked in the order of time.
create index idx_usage_logs_booked_at on public.usage_logs using brin (booked_at) with (pages_per_range = 16, autosummarize = on);

-- Partitions are in their own schema, to which no role has access: they are read and written through the table.
create schema ledger;
revoke all on schema ledger from public;

-- For days without a partition, so that no insert fails.
create table ledger.usage_logs_other partition of public.usage_logs default;
alter table ledger.usage_logs_other enable row level security;

-- Lets the ledger, or one of its partitions, refuse changes of its rows to the tables' owner, too. Triggers of statements, which cost an insert nothing,
-- are those of the table that a statement names: each partition needs its own, and keeps it when it is detached.
create function gateway.make_append_only(ledger_table regclass) returns void
    language plpgsql set search_path = '' as $$
begin
    execute format(
        'create trigger append_only before update or delete or truncate on %s for each statement execute function gateway.refuse_update()',
        ledger_table);
end $$;

select gateway.make_append_only('public.usage_logs'), gateway.make_append_only('ledger.usage_logs_other');

-- Creates the partitions of today and of the next days; returns the number created. Attaching takes no lock that turns wait for.
-- Runs with its owner's rights, because the gateway's role owns no tables.
create function gateway.make_usage_partitions(days_ahead integer) returns integer
    language plpgsql security definer set search_path = '' set lock_timeout = '1s' as $$
declare
    today constant date := now() at time zone 'UTC';
    wanted date;
    partition text;
    made integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('gateway.make_usage_partitions'));
    for wanted in select today + n from generate_series(0, least(days_ahead, 366)) as n loop
        partition := to_char(wanted, '"usage_logs_"YYYYMMDD');
        continue when to_regclass('ledger.' || partition) is not null;
        execute format('create table ledger.%I (like public.usage_logs including all)', partition);
        execute format('alter table ledger.%I enable row level security', partition);
        perform gateway.make_append_only(format('ledger.%I', partition)::regclass);
        -- Moves rows that were inserted before the partition existed. Attaching takes the same lock.
        lock table ledger.usage_logs_other in access exclusive mode;
        if exists (select from ledger.usage_logs_other o where o.day = wanted) then
            -- For others it stays, because they wait for the lock.
            alter table ledger.usage_logs_other disable trigger append_only;
            execute format(
                'with early as (delete from ledger.usage_logs_other where day = %L returning *) insert into ledger.%I select * from early',
                wanted, partition);
            alter table ledger.usage_logs_other enable trigger append_only;
        end if;
        execute format(
            'alter table public.usage_logs attach partition ledger.%I for values from (%L) to (%L)', partition, wanted, wanted + 1);
        made := made + 1;
    end loop;
    return made;
end $$;

select gateway.make_usage_partitions(14);

-- One row per call with a receipt, with the sums of its revisions; users read the ledger through it. With the reader's rights.
create view public.model_calls with (security_invoker = true) as
    select u.id as user_id, l.day, l.turn_id, l.attempt, l.call, l.purpose, l.conversation_id, l.message_id, l.persona_id, l.tier,
        (array_agg(l.domain order by l.revision desc))[1] as domain,
        (array_agg(l.provider order by l.revision desc) filter (where l.provider is not null))[1] as provider,
        (array_agg(l.model order by l.revision desc) filter (where l.model is not null))[1] as model,
        sum(l.input_tokens)::bigint as input_tokens,
        sum(l.cached_input_tokens)::bigint as cached_input_tokens,
        sum(l.cache_write_tokens)::bigint as cache_write_tokens,
        sum(l.output_tokens)::bigint as output_tokens,
        sum(l.reasoning_tokens)::bigint as reasoning_tokens,
        sum(l.tokens_in)::bigint as tokens_in,
        sum(l.tokens_out)::bigint as tokens_out,
        case when sum(l.unpriced) = 0 then sum(l.cost_usd) end as cost_usd,
        (array_agg(l.estimated order by l.revision desc))[1] as estimated,
        (array_agg(l.finalized_by order by l.revision desc))[1] as finalized_by,
        min(l.booked_at) as created_at,
        max(l.booked_at) as updated_at
    from public.usage_logs l
    join public.users u on u.account_id = l.account_id
    group by u.id, l.day, l.turn_id, l.attempt, l.call, l.purpose, l.conversation_id, l.message_id, l.persona_id, l.tier
    having count(l.finalized_by) > 0;
comment on view public.model_calls is 'Tokens and cost of each model call: the sums of its rows in the ledger.';
