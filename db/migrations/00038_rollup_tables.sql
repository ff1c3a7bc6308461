-- Tables of the rollups of the ledger: what operators' figures are read from. The next files fill them and read them.

-- What calls and turns add up to. Tables of rollups are made like this one, which stays empty.
create table gateway.figures (
    -- Calls with a receipt, and turns with one. A turn counts once a day, where its first call of purpose chat is.
    calls bigint not null default 0,
    turns bigint not null default 0,
    -- Of these turns, those in which creators tried a draft.
    preview_turns bigint not null default 0,
    -- Sums over the calls whose number is known, and how many those are.
    input_tokens bigint not null default 0,
    input_known bigint not null default 0,
    cached_input_tokens bigint not null default 0,
    cached_input_known bigint not null default 0,
    output_tokens bigint not null default 0,
    output_known bigint not null default 0,
    cost_nanodollars bigint not null default 0,
    priced_calls bigint not null default 0,
    -- Turns with a call of unknown cost.
    unpriced_turns bigint not null default 0,
    -- Attempts that ended, those that ended with an error, and turns of which one ended: a message of a user each.
    attempts bigint not null default 0,
    errors bigint not null default 0,
    -- Calls beside those of attempts that their provider did not accept: failed, or given up for a faster one. By account they are gateway.nobody's.
    failed_calls bigint not null default 0,
    messages bigint not null default 0,
    -- Of messages with a domain: how many, and the sum of confidences in millionths. abstentions: messages for which no domain was sure enough.
    routed bigint not null default 0,
    confidence bigint not null default 0,
    abstentions bigint not null default 0
);

-- By quarters of an hour in which calls began, by hours and by days of the ledger (UTC); a call stays within its ledger's day. Names compare by
-- bytes, which is faster.
create table gateway.usage_quarters (
    bucket timestamptz not null, tier text collate "C" not null, provider text collate "C", model text collate "C", domain public.coaching_domain,
    like gateway.figures including defaults,
    unique nulls not distinct (bucket, tier, provider, model, domain));
create table gateway.usage_hours (like gateway.usage_quarters including all);
create table gateway.usage_days (
    day date not null, tier text collate "C" not null, provider text collate "C", model text collate "C", domain public.coaching_domain,
    like gateway.figures including defaults,
    unique nulls not distinct (day, tier, provider, model, domain));
-- The same by one key alone, which `key` names: tier, model (with its provider), domain or persona_id; the others are NULL. Most figures need one
-- key at most, and the combinations of all keys are many times more rows. By days also by a persona and one key more: persona_tier, persona_model or
-- persona_domain. By hours that would be nearly a row for each turn. By weeks (from Monday, UTC) all that have personas.
--
-- A partition for each key with personas, in schema ledger as those of the ledger itself: their rows are a hundred times as many as the others, which
-- would lie scattered among them.
create table gateway.key_quarters (
    bucket timestamptz not null, key text collate "C" not null, tier text collate "C", provider text collate "C", model text collate "C",
    domain public.coaching_domain, persona_id uuid,
    like gateway.figures including defaults,
    unique nulls not distinct (key, bucket, tier, provider, model, domain, persona_id)) partition by list (key);
create table gateway.key_hours (like gateway.key_quarters including all) partition by list (key);
create table gateway.key_days (
    day date not null, key text collate "C" not null, tier text collate "C", provider text collate "C", model text collate "C",
    domain public.coaching_domain, persona_id uuid,
    like gateway.figures including defaults,
    unique nulls not distinct (key, day, tier, provider, model, domain, persona_id)) partition by list (key);
create table gateway.key_weeks (
    week date not null, key text collate "C" not null, tier text collate "C", provider text collate "C", model text collate "C",
    domain public.coaching_domain, persona_id uuid,
    like gateway.figures including defaults,
    unique nulls not distinct (key, week, tier, provider, model, domain, persona_id)) partition by list (key);
do $$
declare
    size text;
    name text;
begin
    foreach size in array array['quarters', 'hours', 'days', 'weeks'] loop
        foreach name in array case
            when size in ('quarters', 'hours') then array['persona_id'] else array['persona_id', 'persona_tier', 'persona_model', 'persona_domain'] end
        loop
            execute format('create table ledger.%I partition of gateway.%I for values in (%L)', 'key_' || size || '_' || name, 'key_' || size, name);
        end loop;
        if size <> 'weeks' then
            execute format('create table ledger.%I partition of gateway.%I default', 'key_' || size || '_others', 'key_' || size);
        end if;
    end loop;
end $$;
-- With personas there are many more rows, which few figures need.
create table gateway.persona_quarters (
    bucket timestamptz not null, tier text collate "C" not null, provider text collate "C", model text collate "C", domain public.coaching_domain,
    persona_id uuid,
    like gateway.figures including defaults,
    unique nulls not distinct (bucket, tier, provider, model, domain, persona_id));
create table gateway.persona_days (
    day date not null, tier text collate "C" not null, provider text collate "C", model text collate "C", domain public.coaching_domain,
    persona_id uuid,
    like gateway.figures including defaults,
    unique nulls not distinct (day, tier, provider, model, domain, persona_id));
create table gateway.account_usage_days (
    day date not null, account_id uuid not null, tier text collate "C" not null, provider text collate "C", model text collate "C",
    domain public.coaching_domain, persona_id uuid,
    like gateway.figures including defaults,
    -- With what operator.user_costs sums up, because each of an account's rows is on another page of the table.
    unique nulls not distinct (account_id, day, tier, provider, model, domain, persona_id) include (
        calls, turns, input_tokens, input_known, cached_input_tokens, cached_input_known, output_tokens, output_known, cost_nanodollars, priced_calls,
        unpriced_turns));
-- A row for each day on which an account had a turn; gateway.nobody is among the accounts.
create table gateway.account_days (
    account_id uuid not null, day date not null, like gateway.figures including defaults,
    primary key (account_id, day) include (
        calls, turns, input_tokens, input_known, cached_input_tokens, cached_input_known, output_tokens, output_known, cost_nanodollars, priced_calls,
        unpriced_turns));
create index idx_account_days_day on gateway.account_days (day);

-- Conversations with a turn on a day, and the persona they had in it.
create table gateway.conversation_days (
    account_id uuid not null, day date not null, conversation_id uuid not null, persona_id uuid, primary key (account_id, day, conversation_id));
-- For the calls of a persona.
create index idx_account_usage_days_persona on gateway.account_usage_days (day, persona_id, account_id) where persona_id is not null;
create index idx_account_usage_days_day on gateway.account_usage_days (day);
-- For the statistics that creators read.
create index idx_conversation_days_persona on gateway.conversation_days (persona_id, day) include (account_id, conversation_id)
    where persona_id is not null;
create index idx_conversation_days_day on gateway.conversation_days (day);
-- For operator.persona_costs: some personas after the others, and with what it sums up where each of a persona's rows is on another page of the table.
create index idx_key_weeks_persona on gateway.key_weeks (persona_id, week);
create index idx_key_days_persona_tier on ledger.key_days_persona_tier (persona_id, day);
create index idx_key_days_persona_model on ledger.key_days_persona_model (persona_id, day);
create index idx_key_days_persona_domain on ledger.key_days_persona_domain (persona_id, day);
create index idx_persona_days_persona on gateway.persona_days (persona_id, day) include (
    tier, provider, model, domain, calls, turns, input_tokens, input_known, cached_input_tokens, cached_input_known, output_tokens, output_known,
    cost_nanodollars, priced_calls, unpriced_turns);
create index idx_key_days_persona on ledger.key_days_persona_id (persona_id, day) include (key, turns, preview_turns);

-- Accounts and conversations by day. Accounts that were active within 7 and 30 days, this one included: the sums of the changes up to the day.
create table gateway.activity_days (
    day date primary key,
    active bigint not null default 0,
    weekly_change bigint not null default 0,
    monthly_change bigint not null default 0,
    conversations bigint not null default 0);

-- Accounts with a turn in a week, by the week of their first turn. Weeks begin on Mondays.
create table gateway.retention_weeks (
    cohort date not null, week date not null, accounts bigint not null default 0, primary key (cohort, week));
-- The accounts that these are. is_active: false when the account belongs to an earlier cohort, because of rows that came late.
create table gateway.account_weeks (
    cohort date not null, week date not null, account_id uuid not null, is_active boolean not null, primary key (cohort, week, account_id));

create table gateway.error_quarters (
    bucket timestamptz not null, code text collate "C" not null, provider text collate "C", errors bigint not null default 0,
    unique nulls not distinct (bucket, code, provider));
create table gateway.error_days (
    day date not null, code text collate "C" not null, provider text collate "C", errors bigint not null default 0, unique nulls not distinct (day, code, provider));

-- From the request's arrival: to the first released byte of the model, to the end (of complete turns); per_token: the rest of the time by the tokens after
-- the
-- first.
create type gateway.latency_measure as enum ('first_token', 'per_token', 'whole_turn');

-- Sums in the type of what is summed up. PostgreSQL's own keep a wider state for each group, of several kilobytes for histograms.
create aggregate gateway.total(bigint) (sfunc = int8pl, stype = bigint, parallel = safe);
create aggregate gateway.total(numeric) (sfunc = numeric_add, stype = numeric, parallel = safe);

-- A histogram is one number (Kronecker substitution): the sum of 10^(12 n) over its turns, where n is the turn's bin. So each bin's count has twelve
-- digits of its own, and a sum of histograms is a sum of numbers. Bin n holds times above 2^((n-1)/8) and up to 2^(n/8) microseconds, so its middle
-- is off by 4.4 % at most.
--
-- The bin of a time in microseconds.
create function gateway.latency_bin(microseconds double precision) returns smallint
    language sql immutable
    return ceil(8 * ln(greatest(microseconds, 1)) / ln(2::double precision))::smallint;

-- The histogram of one turn.
create function gateway.histogram(microseconds double precision) returns numeric
    language sql immutable
    return ('1e' || (12 * gateway.latency_bin(microseconds))::text)::numeric;

-- The percentiles 50, 90, 95 and 99 of a histogram of so many turns, each as the middle of its bin in milliseconds; NULL without turns. Also
-- called for differences of histograms, when they are added to a row, with results that are not kept.
create function gateway.latency_percentiles(histogram numeric, turns bigint) returns numeric[]
    language plpgsql immutable strict set search_path = '' as $$
declare
    -- As bytes, because a position in a text is searched from its beginning.
    digits constant bytea := convert_to(histogram::text, 'SQL_ASCII');
    bin integer := (length(digits) - 1) / 12;
    -- Those of the bin: the first one lacks leading zeros.
    place integer := 1;
    width integer := length(digits) - 12 * bin;
    -- Turns in this bin and below.
    rest bigint := turns;
    percent integer;
    percentiles numeric[] := '{}';
begin
    if turns <= 0 or histogram < 0 then
        return null;
    end if;
    -- From the bin of the longest times: a percentile is in the last one with so many turns in it and below.
    foreach percent in array array[99, 95, 90, 50] loop
        while rest * 100 >= turns * percent loop
            rest := rest - encode(substr(digits, place, width), 'escape')::bigint;
            place := place + width;
            width := 12;
            bin := bin - 1;
        end loop;
        percentiles := round((2 ^ ((bin + 0.5::double precision) / 8) / 1000)::numeric, 3) || percentiles;
    end loop;
    return percentiles;
end $$;

create table gateway.latency_quarters (
    bucket timestamptz not null, provider text collate "C", model text collate "C", measure gateway.latency_measure not null,
    turns bigint not null default 0, histogram numeric not null default 0, unique nulls not distinct (bucket, provider, model, measure));
-- By domain alone. With provider and model as well there would be several times as many rows, so that is kept by days only.
create table gateway.domain_latency_quarters (
    bucket timestamptz not null, domain public.coaching_domain, measure gateway.latency_measure not null,
    turns bigint not null default 0, histogram numeric not null default 0, unique nulls not distinct (bucket, domain, measure));
-- A figure by hours has thousands of histograms, which would take longer to be read than to be summed up. `shift`: hours begin so many minutes after
-- those of UTC. Each turn is in one with 0 and in one with 30, for the time zones of half hours.
create table gateway.latency_hours (
    like gateway.latency_quarters including defaults,
    percentiles numeric[] generated always as (gateway.latency_percentiles(histogram, turns)) stored,
    shift smallint not null default 0, unique nulls not distinct (shift, bucket, provider, model, measure));
create table gateway.domain_latency_hours (
    like gateway.domain_latency_quarters including defaults,
    percentiles numeric[] generated always as (gateway.latency_percentiles(histogram, turns)) stored,
    shift smallint not null default 0, unique nulls not distinct (shift, bucket, domain, measure));
create table gateway.latency_days (
    day date not null, provider text collate "C", model text collate "C", domain public.coaching_domain,
    measure gateway.latency_measure not null, turns bigint not null default 0, histogram numeric not null default 0,
    unique nulls not distinct (day, provider, model, domain, measure));

-- The account to which rollups by account add what is no user's: failed calls, and the judge's. The judge is asked about suspicious messages, and figures about safety have no user key
-- (CONTRACT §5).
create function gateway.nobody() returns uuid
    language sql immutable
    return '00000000-0000-0000-0000-000000000000'::uuid;

-- One row. Rows of transactions below the watermark are in the rollups.
create table gateway.rollup_state (
    is_only boolean primary key default true check (is_only),
    watermark xid8 not null default '0',
    -- Every row that was booked before is in the rollups; NULL: not known yet.
    as_of timestamptz,
    -- Days whose rollups are to be made anew, and may lack what was booked before the watermark; as_of stays until there are none.
    pending date[] not null default '{}');
insert into gateway.rollup_state default values;

-- At a time every transaction that had an id was below `before`. Once the watermark reaches it, rows booked until that time are in the rollups.
create table gateway.rollup_marks (at timestamptz primary key, before xid8 not null);

do $$
declare
    name text;
begin
    foreach name in array array[
        'figures', 'usage_quarters', 'usage_hours', 'usage_days', 'key_quarters', 'key_hours', 'key_days', 'key_weeks', 'persona_quarters', 'persona_days', 'account_usage_days', 'account_days', 'conversation_days', 'activity_days',
        'retention_weeks', 'account_weeks', 'error_quarters', 'error_days', 'latency_quarters', 'latency_hours', 'latency_days',
        'domain_latency_quarters', 'domain_latency_hours', 'rollup_state', 'rollup_marks']
    loop
        execute format('revoke all on gateway.%I from public, anon, authenticated, coach_gateway', name);
        execute format('alter table gateway.%I enable row level security', name);
    end loop;
    for name in select c.relname from pg_class c where c.relnamespace = 'ledger'::regnamespace and c.relname like 'key%' and c.relkind = 'r' loop
        execute format('revoke all on ledger.%I from public, anon, authenticated, coach_gateway', name);
        execute format('alter table ledger.%I enable row level security', name);
    end loop;
end $$;
revoke all on all functions in schema gateway from public, anon, authenticated;
