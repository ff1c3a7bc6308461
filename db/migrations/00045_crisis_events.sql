-- Audit of crisis detection, without any text; when the notice of talking to a machine was given; the cost of a judge.

-- The notice was last given then; NULL: never.
alter table public.rate_limits add column disclosed_at timestamptz;

create type gateway.detection_stage as enum ('grammar', 'model', 'state', 'judge', 'output_guard');
create type gateway.crisis_action as enum ('card', 'opening', 'fixed_text', 'reminder', 'replaced');

-- What was found in a turn and done about it: a message of tier 2 and above, a reminder for the stored state, or replaced sentences of an answer.
-- Like the ledger it outlives users and turns, and refers to none of them by a foreign key. Rows are only added; which of them count changes.
create table gateway.crisis_events (
    -- public.users.account_id.
    account_id uuid not null,
    -- UTC day on which the turn's attempt began.
    day date not null,
    turn_id uuid not null,
    attempt integer not null,
    stage gateway.detection_stage not null,
    tier public.risk_tier not null,
    -- The leading one; NULL for a reminder, and for replaced sentences of a turn without danger.
    category text,
    -- Ids of patterns and follow-ups, or the kinds of the replaced sentences.
    patterns text[] not null,
    -- Tenth of the model's calibrated probability, 0 to 9; NULL without a model.
    score_bucket smallint check (score_bucket between 0 and 9),
    action gateway.crisis_action not null,
    -- ISO 3166-1, as it chose the resources; NULL: unknown.
    jurisdiction text,
    -- {model?, grammar, guard, resources}; NULL when the instance that ran the turn crashed.
    versions jsonb,
    created_at timestamptz not null default clock_timestamp(),
    -- The quarter of an hour, within the day.
    bucket timestamptz not null,
    -- What figures count: of a turn's events on a day in which danger was found, and of those in which sentences were replaced, the one of the highest
    -- tier, and of these the first.
    is_counted boolean not null default false,
    primary key (account_id, day, turn_id, attempt, stage)
);
-- All that operator.safety reads.
create index idx_crisis_events_counted on gateway.crisis_events (bucket) include (tier, category, jurisdiction, action) where is_counted;

revoke all on gateway.crisis_events from anon, authenticated, coach_gateway;
alter table gateway.crisis_events enable row level security;
-- Called by gateway.write_answer for receipts that have `crisis`: {jurisdiction?, versions?, events: [{stage, tier, category?, patterns,
-- score_bucket?, action}]}. What recovery wrote for the same attempt stays. With its owner's rights: the gateway's role has none to this table.
create function gateway.record_crisis(uid uuid, turn_id uuid, nth integer, crisis jsonb) returns void
    language plpgsql security definer set search_path = '' as $$
begin
    insert into gateway.crisis_events (
        account_id, day, turn_id, attempt, stage, tier, category, patterns, score_bucket, action, jurisdiction, versions, created_at, bucket)
    select u.account_id, t.day, t.id, nth, e.stage, e.tier, e.category, e.patterns, e.score_bucket, e.action,
        crisis ->> 'jurisdiction', crisis -> 'versions', n.at,
        greatest(t.day::timestamp at time zone 'UTC', least(
            date_bin('15 minutes', n.at, 'epoch'), (t.day + 1)::timestamp at time zone 'UTC' - interval '15 minutes'))
    from public.users u
    join public.turns t on t.user_id = u.id and t.id = $2
    cross join lateral (select clock_timestamp() as at offset 0) as n
    cross join jsonb_to_recordset(crisis -> 'events') as e (
        stage gateway.detection_stage, tier smallint, category text, patterns text[], score_bucket smallint, action gateway.crisis_action)
    where u.id = gateway.user_id()
    on conflict do nothing;
    update gateway.crisis_events c
    set is_counted = r.place = 1
    from (
        select e.account_id, e.day, e.turn_id, e.attempt, e.stage,
            row_number() over (partition by e.action = 'replaced' order by e.tier desc, e.attempt, e.stage) as place
        from gateway.crisis_events e
        join public.users u on u.account_id = e.account_id and u.id = gateway.user_id()
        join public.turns t on t.user_id = u.id and t.id = e.turn_id and t.day = e.day
        where e.turn_id = $2) as r
    where (c.account_id, c.day, c.turn_id, c.attempt, c.stage) = (r.account_id, r.day, r.turn_id, r.attempt, r.stage)
        and c.is_counted <> (r.place = 1);
end $$;

-- A figure (00041). Groups: day, tier, category, jurisdiction. referrals: turns in which crisis services were shown; replaced: turns of which sentences
-- were replaced; a turn counts once a day, with its highest tier. A count under 5 is NULL, so that no cell points to a person.
create function operator.safety(starts timestamptz, ends timestamptz, group_by text[], grain text, tz text)
    returns table (bucket timestamptz, tier bigint, category text, jurisdiction text, referrals bigint, replaced bigint)
    language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_custom_plan set work_mem = '32MB' as $$
begin
    perform operator.require_operator();
    perform gateway.check_figure(group_by, array['day', 'tier', 'category', 'jurisdiction'], grain, tz);
    return query
        select c.bucket, c.tier, c.category, c.jurisdiction, case when c.referrals >= 5 then c.referrals end,
            case when c.replaced >= 5 then c.replaced end
        from (
            select case when 'day' = any (group_by) then w.labels[width_bucket(e.bucket, w.edges)] end as bucket,
                case when 'tier' = any (group_by) then e.tier::bigint end as tier,
                case when 'category' = any (group_by) then e.category end as category,
                case when 'jurisdiction' = any (group_by) then e.jurisdiction end as jurisdiction,
                count(*) filter (where e.action <> 'replaced') as referrals, count(*) filter (where e.action = 'replaced') as replaced
            from gateway.buckets(starts, ends, grain, tz) w
            join gateway.crisis_events e on e.bucket >= starts and e.bucket < ends and e.is_counted
            group by 1, 2, 3, 4) as c;
end $$;

-- The figures of a calendar year (UTC) for a yearly report, exact, by jurisdiction, category and tier.
create function operator.safety_report(year integer)
    returns table (jurisdiction text, category text, tier smallint, referrals bigint, replaced bigint)
    language plpgsql stable security definer set search_path = '' as $$
begin
    perform operator.require_operator();
    return query
        select e.jurisdiction, e.category, e.tier::smallint, count(*) filter (where e.action <> 'replaced'),
            count(*) filter (where e.action = 'replaced')
        from gateway.crisis_events e
        where e.is_counted and e.bucket >= make_timestamptz($1, 1, 1, 0, 0, 0, 'UTC') and e.bucket < make_timestamptz($1 + 1, 1, 1, 0, 0, 0, 'UTC')
        group by e.jurisdiction, e.category, e.tier
        order by 1, 2, 3;
end $$;

revoke all on all functions in schema gateway, operator from public, anon, authenticated;
grant execute on function
    gateway.record_crisis(uuid, uuid, integer, jsonb),
    operator.safety(timestamptz, timestamptz, text[], text, text), operator.safety_report(integer)
    to coach_gateway;
