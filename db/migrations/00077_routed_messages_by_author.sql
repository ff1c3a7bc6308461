-- Dry runs count users, not messages: five messages of one user are no step.

-- As operator.routed_messages, which the releases before call: with a number that tells the authors of one answer apart, and without the caller's own
-- messages, by which an operator could fill a step but for the one message of a user.
create function operator.routed_messages_2(at_most integer)
    returns table (content text, conversation_domain public.coaching_domain, author bigint)
    language plpgsql stable security definer set search_path = '' set jit = off as $$
declare
    own_account constant uuid := (select u.account_id from public.users u where u.id = gateway.user_id());
begin
    perform operator.require_operator();
    return query
        select m.content, before.domain, dense_rank() over (order by newest.account_id)
        from (
            select l.account_id, l.turn_id, max(l.booked_in::text::bigint) as place from (
                select u.account_id, u.turn_id, u.booked_in from public.usage_logs u
                where u.day > (now() at time zone 'UTC')::date - 30 and u.domain_source in ('message', 'conversation', 'abstained')
                    and u.account_id is distinct from own_account
                order by u.booked_in desc limit least(at_most, 5000)) as l
            group by 1, 2) as newest
        join public.users p on p.account_id = newest.account_id
        join public.turns t on t.user_id = p.id and t.id = newest.turn_id
        join public.conversations c on c.user_id = t.user_id and c.id = t.conversation_id and not c.ephemeral
        join public.messages m on m.user_id = t.user_id and m.id = t.user_message_id
        left join lateral (
            select o.domain from public.turns o
            where o.user_id = t.user_id and o.conversation_id = t.conversation_id and o.seq < t.seq order by o.seq desc limit 1) before on true
        where m.content is not null and coalesce((p.consents ->> 'memory')::boolean, true)
        order by newest.place desc;
end $$;

revoke all on all functions in schema operator from public, anon, authenticated;
grant execute on function operator.routed_messages_2(integer) to coach_gateway;
