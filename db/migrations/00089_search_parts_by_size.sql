-- A part of the search index is bounded by the size of its texts, too: 200 messages of 8,000 Han characters took longer than a statement may, so that none of
-- them was ever indexed and each search of their user failed.

-- As gateway.index_messages_2, which the releases before call. Of at most `at_most` messages and of `newest`, as many as begin within `most_bytes` of text
-- each; one of each at least.
create function gateway.index_messages_3(user_id uuid, at_most integer, most_bytes integer, newest integer) returns boolean
    language plpgsql set search_path = '' set lock_timeout = '100ms' as $$
declare
    wanted constant text := gateway.search_language((select u.locale from public.users u where u.id = $1));
    -- What the index was made by. An index made before, in the same language, counts as one of another language.
    index_form constant text := wanted || ' 2';
    progress gateway.search_progress;
    -- Read before the messages: a reader that sees a number sees all rows with lower ones.
    through constant bigint := coalesce((select n.last_change from public.change_counters n where n.user_id = $1), 0);
    is_behind boolean;
    last_change bigint;
    last_id uuid;
begin
    perform gateway.check_caller(user_id);
    insert into gateway.search_progress as p (user_id, language, change, message_id)
    values ($1, index_form, -1, '00000000-0000-0000-0000-000000000000') on conflict on constraint search_progress_pkey do nothing;
    select * into strict progress from gateway.search_progress p where p.user_id = $1 for update;
    if progress.language <> index_form then
        progress.change := -1;
    end if;
    if progress.change >= through then
        return false;
    end if;

    -- octet_length reads the length of a text, not the text.
    with first as materialized (
        select m.id, m.change, m.content from public.messages m
        where m.user_id = $1 and (m.change, m.id) > (progress.change, progress.message_id)
        order by m.change, m.id limit at_most
    ), sized as materialized (
        select f.*, sum(octet_length(f.content)) over (order by f.change, f.id) - octet_length(f.content) < most_bytes as fits from first f
    ), added as (
        insert into public.message_words as w (user_id, message_id, words)
        select $1, s.id, to_tsvector(wanted::regconfig, gateway.searchable_text(s.content)) from sized s where s.fits
        on conflict on constraint message_words_pkey do update set words = excluded.words
    )
    select
        count(*) = at_most or not coalesce(bool_and(s.fits), true),
        (array_agg(s.change order by s.change desc, s.id desc) filter (where s.fits))[1],
        (array_agg(s.id order by s.change desc, s.id desc) filter (where s.fits))[1]
    into is_behind, last_change, last_id from sized s;
    if not is_behind then
        last_change := greatest(last_change, through);
        last_id := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    end if;
    update gateway.search_progress p set language = index_form, change = last_change, message_id = last_id where p.user_id = $1;

    if is_behind then
        insert into public.message_words as w (user_id, message_id, words)
        select $1, s.id, to_tsvector(wanted::regconfig, gateway.searchable_text(s.content)) from (
            select l.*, sum(octet_length(l.content)) over (order by l.change desc, l.id desc) - octet_length(l.content) < most_bytes as fits from (
                select n.id, n.change, n.content from public.messages n
                where n.user_id = $1 and (n.change, n.id) > (last_change, last_id)
                order by n.change desc, n.id desc limit newest) l) s
        where s.fits
        on conflict on constraint message_words_pkey do update set words = excluded.words;
    end if;
    return is_behind;
end $$;

-- Gateways of the release before call this one: with the limit, too.
create or replace function gateway.index_messages_2(user_id uuid, at_most integer, newest integer) returns boolean
    language sql set search_path = '' as $$ select gateway.index_messages_3($1, $2, 150000, $3) $$;

revoke all on all functions in schema gateway from public, anon, authenticated;
grant execute on function gateway.index_messages_3(uuid, integer, integer, integer) to coach_gateway;
