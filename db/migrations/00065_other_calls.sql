-- Calls of an attempt beside the one that answered: providers that failed, and those that were slower.

-- Books them: the ledger's third call and those after it. Once, also when a receipt is delivered again.
-- calls: [{provider, model, bill?: as in gateway.finish_turn}], in the order of their requests; without a bill the provider did not accept the call, and
-- its row has neither a receipt nor numbers.
create function gateway.book_calls(uid uuid, turn_id uuid, nth integer, calls jsonb, finalizer public.finalizer) returns void
    language plpgsql set search_path = '' as $$
begin
    with booked as (
        insert into public.usage_logs (
            account_id, day, turn_id, attempt, call, revision, purpose, finalized_by, conversation_id, message_id, persona_id, domain, tier,
            provider, model, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, tokens_in, tokens_out,
            cost_usd, unpriced, estimated)
        select
            u.account_id, t.day, t.id, nth, 2 + c.place::integer, 1, t.purpose, case when b.bill is not null then finalizer end,
            t.conversation_id, t.message_id, t.persona_id, t.domain, t.tier, c.call ->> 'provider', c.call ->> 'model',
            (b.bill ->> 'input')::bigint, (b.bill ->> 'cached_input')::bigint, (b.bill ->> 'cache_write')::bigint,
            (b.bill ->> 'output')::bigint, (b.bill ->> 'reasoning')::bigint, gateway.tokens_in(b.bill), gateway.tokens_out(b.bill), b.cost,
            (b.bill is not null and b.cost is null)::integer, coalesce((b.bill ->> 'estimated')::boolean, false)
        from public.users u
        join public.turns t on t.user_id = u.id and t.id = $2
        cross join jsonb_array_elements(calls) with ordinality as c (call, place)
        cross join lateral (select nullif(c.call -> 'bill', 'null') as bill,
            gateway.to_usd((c.call #>> '{bill,cost_nanodollars}')::bigint) as cost) as b
        where u.id = gateway.user_id()
        on conflict do nothing
        returning *
    )
    insert into public.budgets as b (user_id, day, spent_usd, tokens, unpriced_turns)
    select uid, k.day, coalesce(sum(k.cost_usd), 0), coalesce(sum(k.tokens_in + k.tokens_out), 0), max(k.unpriced)
    from booked k where k.finalized_by is not null
    group by k.day
    on conflict (user_id, day) do update
        set spent_usd = b.spent_usd + excluded.spent_usd, tokens = b.tokens + excluded.tokens,
            unpriced_turns = b.unpriced_turns + excluded.unpriced_turns;
end $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.book_calls(uuid, uuid, integer, jsonb, public.finalizer) to coach_gateway;
