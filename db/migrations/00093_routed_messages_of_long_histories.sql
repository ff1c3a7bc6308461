-- A dry run of the routing read all turns of an author for each of their messages: with 1,000 messages of a user with 30,000 turns it took 30 s, and the
-- statement has two.

-- As in 00077, but with one look-up each, which the limits ensure. The turn before is that of the message before: its place in the conversation is indexed.
create or replace function operator.routed_messages_2(at_most integer)
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
        cross join lateral (select u.id, u.consents from public.users u where u.account_id = newest.account_id limit 1) p
        cross join lateral (select o.* from public.turns o where o.user_id = p.id and o.id = newest.turn_id limit 1) t
        join public.conversations c on c.user_id = t.user_id and c.id = t.conversation_id and not c.ephemeral
        join public.messages m on m.user_id = t.user_id and m.id = t.user_message_id
        left join lateral (
            select q.user_id, q.turn_id from public.messages q
            where q.user_id = t.user_id and q.conversation_id = t.conversation_id and q.seq < t.seq and q.role = 'user'
            order by q.seq desc limit 1) question on true
        left join lateral (
            select o.domain from public.turns o where o.user_id = question.user_id and o.id = question.turn_id limit 1) before on true
        where m.content is not null and coalesce((p.consents ->> 'memory')::boolean, true)
        order by newest.place desc;
end $$;
