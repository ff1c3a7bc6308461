-- What budgets.unpriced_turns counts are calls, as in the ledger, of which a turn can have several: a repricing takes each of them back. As one of them
-- was counted for all calls beside an attempt's first, three that got a price left -2.

comment on column public.budgets.unpriced_turns is 'Calls whose cost is unknown, so that spent_usd is a lower bound.';

-- As 00065 has it, but for the last sum.
create or replace function gateway.book_calls(uid uuid, turn_id uuid, nth integer, began date, calls jsonb, finalizer public.finalizer) returns void
    language plpgsql set search_path = '' set plan_cache_mode = force_custom_plan as $$
declare
    account constant uuid := (select u.account_id from public.users u where u.id = gateway.user_id());
begin
    with former as materialized (
        select l.call, max(l.revision) as revision, (array_agg(l.finalized_by order by l.revision desc))[1] as finalized_by,
            (array_agg(l.purpose order by l.revision desc))[1] as purpose,
            sum(l.input_tokens) as input_tokens, sum(l.cached_input_tokens) as cached_input_tokens,
            sum(l.cache_write_tokens) as cache_write_tokens, sum(l.output_tokens) as output_tokens,
            sum(l.reasoning_tokens) as reasoning_tokens, sum(l.tokens_in) as tokens_in, sum(l.tokens_out) as tokens_out,
            sum(l.cost_usd) as cost_usd, sum(l.unpriced) as unpriced
        from public.usage_logs l
        where l.account_id = account and l.day = began and l.turn_id = $2 and l.attempt = nth
        group by l.call
    ), told as materialized (
        select g.* from jsonb_to_recordset(calls) as g (call integer, purpose public.usage_purpose, provider text, model text, bill jsonb)
    ), given as materialized (
        select t.*, gateway.to_usd((t.bill ->> 'cost_nanodollars')::bigint) as cost from told t
        union all
        -- Billed by recovery, and not among those that the owner has made.
        select f.call, f.purpose, null, null, null, null from former f
        where $6 = 'owner' and f.finalized_by = 'recovery' and f.call > 1 and f.purpose <> 'summary'
            and not exists (select from told t where t.call = f.call)
    ), booked as (
        insert into public.usage_logs (
            account_id, day, turn_id, attempt, call, revision, purpose, finalized_by, conversation_id, message_id, persona_id, domain, tier,
            provider, model, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, tokens_in, tokens_out,
            cost_usd, unpriced, estimated)
        select
            account, began, t.id, nth, g.call, coalesce(f.revision, 0) + 1, coalesce(g.purpose, t.purpose),
            case when g.bill is not null or f.finalized_by is not null then finalizer end,
            t.conversation_id, t.message_id, t.persona_id, t.domain, t.tier, g.provider, g.model,
            coalesce((g.bill ->> 'input')::bigint, n.none) - coalesce(f.input_tokens, 0),
            coalesce((g.bill ->> 'cached_input')::bigint, n.none) - coalesce(f.cached_input_tokens, 0),
            coalesce((g.bill ->> 'cache_write')::bigint, n.none) - coalesce(f.cache_write_tokens, 0),
            coalesce((g.bill ->> 'output')::bigint, n.none) - coalesce(f.output_tokens, 0),
            coalesce((g.bill ->> 'reasoning')::bigint, n.none) - coalesce(f.reasoning_tokens, 0),
            coalesce(gateway.tokens_in(g.bill), n.none) - coalesce(f.tokens_in, 0),
            coalesce(gateway.tokens_out(g.bill), n.none) - coalesce(f.tokens_out, 0),
            case when coalesce(g.cost, f.cost_usd) is not null then coalesce(g.cost, 0) - coalesce(f.cost_usd, 0) end,
            (g.bill is not null and g.cost is null)::integer - coalesce(f.unpriced, 0),
            coalesce((g.bill ->> 'estimated')::boolean, false)
        from given g
        join public.turns t on t.user_id = gateway.user_id() and t.id = $2
        left join former f on f.call = g.call
        -- What a call counts for after a correction that takes its bill away.
        cross join lateral (select case when g.bill is null and f.finalized_by is not null then 0 end as none) as n
        where not (coalesce(f.revision, 0) > 0 and (
            finalizer = 'recovery' or f.finalized_by is not distinct from 'owner' or (g.bill is null and f.finalized_by is null)))
        on conflict do nothing
        returning *
    ), ended as (
        insert into public.usage_logs (
            account_id, day, turn_id, attempt, call, revision, purpose, conversation_id, message_id, persona_id, tier)
        select l.account_id, l.day, l.turn_id, l.attempt, l.call, 1, l.purpose, l.conversation_id, l.message_id, l.persona_id, l.tier
        from public.usage_logs l
        join former f on f.call = l.call and f.revision = 0
        where l.account_id = account and l.day = began and l.turn_id = $2 and l.attempt = nth
            -- The attempt's first call has the attempt's own receipt, a summary's the summary's.
            and l.call > 1 and l.purpose <> 'summary' and not exists (select from given g where g.call = l.call)
        on conflict do nothing
    )
    insert into public.budgets as b (user_id, day, spent_usd, tokens, unpriced_turns)
    select uid, k.day, coalesce(sum(k.cost_usd), 0), coalesce(sum(k.tokens_in + k.tokens_out), 0), sum(k.unpriced)
    from booked k where k.finalized_by is not null
    group by k.day
    on conflict (user_id, day) do update
        set spent_usd = b.spent_usd + excluded.spent_usd, tokens = b.tokens + excluded.tokens,
            unpriced_turns = b.unpriced_turns + excluded.unpriced_turns;
end $$;
