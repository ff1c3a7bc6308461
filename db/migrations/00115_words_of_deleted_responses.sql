-- Words of responses that were deleted before 00110 stayed in the index of searches until their user searched. All turns are read before a word is locked.
with deleted as materialized (
    select m.user_id, m.id from public.turns t
    join public.messages m on m.user_id = t.user_id and m.conversation_id = t.conversation_id and m.turn_id = t.id
    where t.deleted_at is not null
)
update public.message_words w set words = ''
from deleted d
where w.user_id = d.user_id and w.message_id = d.id and w.words <> '';
