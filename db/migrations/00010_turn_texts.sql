-- Small functions on texts and JSON, shared by the turn functions. Those without a subquery are SQL, which the planner inlines; the others are
-- PL/pgSQL, which keeps its plans: an SQL function that is not inlined is planned again at every call. It is inlined when nothing in it is less
-- stable than it says, and what makes JSON or reads time zones is no more than STABLE.

-- Estimated tokens of a text. The rule and its reason are those of `TokenEstimate` in CoachCore; a test compares the two.
create function gateway.estimate_tokens(content text) returns integer
    language sql immutable
    return (5 * octet_length(content) - 3 * char_length(content) + 7) / 8;

-- Tokens of a message beside its content: `TokenEstimate.perMessage`.
create function gateway.tokens_per_message() returns integer
    language sql immutable
    return 4;

-- The title that a conversation without one gets by its first message: the message's beginning. Later messages give none, because the owner may have
-- removed it.
create function gateway.title_of(message text) returns text
    language sql immutable
    return nullif(btrim(left(btrim(
        -- To look for white space costs a tenth of replacing it.
        case when left(message, 400) ~ '\s\s|[^\S ]' then regexp_replace(left(message, 400), '\s+', ' ', 'g') else left(message, 400) end), 60)), '');

-- A persona's setting as one text: strings as they are, lists joined, objects as `key: value`.
create function gateway.prompt_text(setting jsonb) returns text
    language plpgsql immutable set search_path = '' as $$
begin
    return nullif(case jsonb_typeof(setting)
        when 'array' then (
            select string_agg(coalesce(value #>> '{}', ''), '; ' order by place)
            from jsonb_array_elements(setting) with ordinality as item (value, place))
        when 'object' then (
            select string_agg(key || ': ' || coalesce(value #>> '{}', ''), '; ' order by key) from jsonb_each(setting))
        else setting #>> '{}'
    end, '');
end $$;

-- A persona's domain when it names one of the seven, else NULL.
create function gateway.domain_of(setting jsonb) returns public.coaching_domain
    language plpgsql stable set search_path = '' as $$
begin
    return (
        select d from unnest(enum_range(null::public.coaching_domain)) as d
        where d::text = case jsonb_typeof(setting) when 'string' then setting #>> '{}' else setting ->> 'primary' end);
end $$;

-- Assessment of a message: {tier, categories, subject, patterns}.
create type gateway.risk as (tier public.risk_tier, categories text[], subject public.risk_subject, patterns text[]);

-- Requests with the same idempotency key are the same request when their hashes are equal.
create function gateway.request_hash(request jsonb) returns bytea
    language sql stable
    return sha256(convert_to(
        jsonb_build_array(
            request -> 'message', request ->> 'persona_id', request ->> 'domain', request ->> 'persona_slug', request -> 'supplied',
            nullif(request ->> 'source', 'app'), request ->> 'retry_of')::text,
        'UTF8'));

create function gateway.to_usd(nanodollars bigint) returns numeric
    language sql immutable
    return nanodollars * 0.000000001;

create function gateway.to_nanodollars(usd numeric) returns bigint
    language sql immutable
    return (usd * 1000000000)::bigint;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function
    gateway.estimate_tokens(text), gateway.tokens_per_message(), gateway.title_of(text), gateway.prompt_text(jsonb),
    gateway.domain_of(jsonb), gateway.request_hash(jsonb), gateway.to_usd(bigint), gateway.to_nanodollars(numeric)
    to coach_gateway;
