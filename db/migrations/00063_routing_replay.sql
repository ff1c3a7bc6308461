-- Messages on which an edited domain configuration is tried: the gateway routes them again and answers operators with counts alone.

-- The newest messages of the last 30 days whose domain the router decided, with the domain that their conversation had before. Of all users, without
-- their names; not of those who refused memory, nor of ephemeral conversations and previews. The one function here that returns users' messages, and
-- returns rows to the gateway where operators get counts: stored decisions do not tell how an edited configuration would have scored a message, because
-- it adds the weights of words. The gateway's role alone may execute it, operators behind PostgREST may not; the gateway routes the text in its memory,
-- and neither logs nor stores it nor answers with it (RoutingReplay).
create function operator.routed_messages(at_most integer) returns table (content text, conversation_domain public.coaching_domain)
    language plpgsql stable security definer set search_path = '' set jit = off as $$
begin
    perform operator.require_operator();
    return query
        select m.content, before.domain
        from (
            select l.account_id, l.turn_id, max(l.booked_in::text::bigint) as place from (
                select u.account_id, u.turn_id, u.booked_in from public.usage_logs u
                where u.day > (now() at time zone 'UTC')::date - 30 and u.domain_source in ('message', 'conversation', 'abstained')
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
grant execute on function operator.routed_messages(integer) to coach_gateway;
