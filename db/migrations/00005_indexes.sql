-- Indexes besides the primary keys.

-- History and message lists: one conversation, newest first.
create index idx_messages_conversation_id on public.messages (user_id, conversation_id, seq);
-- The list of conversations.
create index idx_conversations_last_message_at on public.conversations (user_id, last_message_at desc, id desc);
-- Deleted conversations whose content is still there, the oldest first.
create index idx_conversations_deleted_at on public.conversations (deleted_at) where deleted_at is not null and purged_at is null;
-- Ephemeral conversations whose content is still there, the oldest first.
create index idx_conversations_ephemeral on public.conversations (last_message_at) where ephemeral and purged_at is null;
-- A creator's own personas.
create index idx_coaching_personas_user_id on public.coaching_personas (user_id);
-- The list of published personas.
create index idx_coaching_personas_listed on public.coaching_personas (published_at desc, id desc)
    where status = 'published' and visibility = 'listed' and deleted_at is null;
