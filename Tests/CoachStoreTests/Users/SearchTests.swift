import CoachCore
import CoachStore
import Foundation
import PostgresClient
import Testing

@Suite("Message search")
struct SearchTests {
    private func newcomer(locale: String?) async throws -> (StoreFixture, Caller, MessageSearch) {
        let store = try await StoreFixture.shared()
        let caller = Caller.someone()
        _ = try await store.requests().take(caller)
        if let locale { try await store.admin.execute("update public.users set locale = \(locale) where id = \(caller.userID.uuid)") }
        return (store, caller, .postgres(client: store.gateway))
    }

    private func contents(_ search: MessageSearch, _ caller: Caller, _ query: String) async throws -> [String] {
        try await search.search(caller, query, PageRequest(limit: 50)).items.map(\.message.content)
    }

    @Test("finds inflected words in the user's language, phrases and new messages, and nothing of other users")
    func words() async throws {
        let (store, caller, search) = try await newcomer(locale: "en-GB")
        let (_, other, _) = try await newcomer(locale: "en")
        try await store.turns().talk(caller, "I was running along the river", answer: "How far did you run?")
        try await store.turns().talk(other, "I run, too")
        #expect(try await contents(search, caller, "runs") == ["How far did you run?", "I was running along the river"])
        #expect(try await contents(search, caller, "\"along the river\"") == ["I was running along the river"])
        #expect(try await contents(search, caller, "run -river") == ["How far did you run?"])
        #expect(try await contents(search, caller, "swim") == [])
        let conversation = try await store.turns().talk(caller, "Swimming is fine").conversationID
        #expect(try await contents(search, caller, "swim") == ["Swimming is fine"])
        _ = try await store.conversations.delete(caller, conversation, nil)
        #expect(try await contents(search, caller, "swim") == [])
        for odd in ["'", "\"", "& | !", "a:*", "\\", "-", "\u{1F49B}", "<->"] { _ = try await contents(search, caller, odd) }
    }

    @Test("takes a row of dashes for a line, not for exclusions")
    func dashes() async throws {
        let (store, caller, search) = try await newcomer(locale: "en")
        let note = "A quiet morning by the river"
        try await store.turns().talk(caller, note, answer: "Tell me more")
        let line = String(repeating: "-", count: 100)
        for query in ["\(line) quiet \(line)", "--quiet", "quiet - - river", "\"quiet\"\(line)morning"] {
            #expect(try await contents(search, caller, query) == [note], "\(query)")
        }
        let rows = ["-", "- ", "-!", "-<", "- < ", "(-)"].map { String(repeating: $0, count: 50) }
        for query in [line, "quiet -river"] + rows {
            #expect(try await contents(search, caller, query) == [], "\(query)")
        }
    }

    @Test("follows a change of the user's language")
    func language() async throws {
        let (store, caller, search) = try await newcomer(locale: "es-MX")
        try await store.turns().talk(caller, "Estamos corriendo juntos", answer: "Bien")
        #expect(try await contents(search, caller, "correr") == ["Estamos corriendo juntos"])
        try await store.admin.execute("update public.users set locale = 'en' where id = \(caller.userID.uuid)")
        #expect(try await contents(search, caller, "correr") == [])
        #expect(try await contents(search, caller, "corriendo") == ["Estamos corriendo juntos"])
    }

    @Test("finds a text however its accents are encoded")
    func normalForms() async throws {
        let (store, caller, search) = try await newcomer(locale: "en")
        let (composed, decomposed) = ("My r\u{E9}sum\u{E9}", "A cafe\u{301}")
        try await store.turns().talk(caller, composed, answer: decomposed)
        for query in ["r\u{E9}sum\u{E9}", "re\u{301}sume\u{301}"] { #expect(try await contents(search, caller, query) == [composed]) }
        for query in ["caf\u{E9}", "cafe\u{301}"] { #expect(try await contents(search, caller, query) == [decomposed]) }
    }

    @Test("finds words of Chinese and Japanese inside of longer texts", arguments: ["ja-JP", "en", nil])
    func unspaced(locale: String?) async throws {
        let (store, caller, search) = try await newcomer(locale: locale)
        let (japanese, chinese) = ("東京で働きたいです。毎日が大変。", "我想换一份工作, iPhone买了")
        try await store.turns().talk(caller, japanese, answer: chinese)
        for query in ["東京", "働きたい", "毎日", "\"東京で\"", "東京 大変"] {
            #expect(try await contents(search, caller, query) == [japanese], "\(query)")
        }
        for query in ["工作", "iPhone 工作", "iPhone买", "-東京"] { #expect(try await contents(search, caller, query) == [chinese], "\(query)") }
        for query in ["京東", "働工", "工作 -iPhone"] { #expect(try await contents(search, caller, query) == [], "\(query)") }
    }

    @Test("finds words that stand together without a space, alone and as a phrase")
    func joinedWords() async throws {
        let (store, caller, search) = try await newcomer(locale: "en")
        let question = "My work/life balance is off.Help me, I feel <stressed>"
        let answer = "See https://example.com/well-being?page=1 today"
        try await store.turns().talk(caller, question, answer: answer)
        for query in ["life", "work/life", "help", "off.Help", "stressed", "<stressed>", "\"work/life\"", "-example.com"] {
            #expect(try await contents(search, caller, query) == [question], "\(query)")
        }
        for query in ["https://example.com/well-being?page=1", "example.com", "example", "see -work/life", "well-being"] {
            #expect(try await contents(search, caller, query) == [answer], "\(query)")
        }
        for query in ["life/work", "com/example", "today -example.com/well-being", "/", "<>", "."] {
            #expect(try await contents(search, caller, query) == [], "\(query)")
        }
    }

    @Test("makes an index of an earlier release anew")
    func earlierIndex() async throws {
        let (store, caller, search) = try await newcomer(locale: "en")
        try await store.turns().talk(caller, "cafe\u{301}", answer: "hay")
        #expect(try await contents(search, caller, "hay") == ["hay"])
        let id = caller.userID.uuid
        try await store.admin.execute("update gateway.search_progress set language = 'english' where user_id = \(id)")
        try await store.admin.execute("update public.message_words set words = '' where user_id = \(id)")
        #expect(try await contents(search, caller, "caf\u{E9}") == ["cafe\u{301}"])
    }

    @Test("pages have every message once, and a job indexes what the first search left")
    func pages() async throws {
        let (store, caller, search) = try await newcomer(locale: nil)
        let conversation = try await store.turns().talk(caller, "needle 0", answer: "hay").conversationID
        try await store.admin.execute(
            """
            insert into public.messages (user_id, conversation_id, seq, role, content, token_count, change)
            select \(caller.userID.uuid), \(conversation.uuid), 2 + n, 'user', 'needle ' || n, 1, 1 from generate_series(1, 1500) n
            """)
        #expect(try await search.search(caller, "needle", PageRequest(limit: 3)).items.count == 3)
        let jobs = try await JobQueue(client: store.gateway, instance: UUID()).exchange([], [.indexMessages: 100], .seconds(30))
        #expect(jobs.count { $0.userID == caller.userID } == 1)
        let indexer = MessageIndexer.postgres(client: store.gateway)
        while try await indexer.indexPart(caller.userID) {}
        var (found, cursor): (Set<MessageID>, String?) = ([], nil)
        repeat {
            let page = try await search.search(caller, "needle", PageRequest(limit: 400, cursor: cursor))
            #expect(found.isDisjoint(with: page.items.map(\.message.id)))
            found.formUnion(page.items.map(\.message.id))
            cursor = page.nextCursor
        } while cursor != nil
        #expect(found.count == 1501)
        await #expect(throws: InvalidCursor()) { try await search.search(caller, "needle", PageRequest(limit: 1, cursor: "x")) }
    }

    @Test("a search indexes the newest messages itself, and leaves the rest to the job")
    func bounded() async throws {
        let (store, caller, search) = try await newcomer(locale: nil)
        let conversation = try await store.turns().talk(caller, "hay", answer: "hay").conversationID
        try await store.admin.execute(
            """
            insert into public.messages (user_id, conversation_id, seq, role, content, token_count, change)
            select \(caller.userID.uuid), \(conversation.uuid), 2 + n, 'user', 'needle' || n, 1, n from generate_series(1, 1000) n
            """)
        try await store.admin.execute("update public.change_counters set last_change = 1000 where user_id = \(caller.userID.uuid)")
        #expect(try await contents(search, caller, "needle1000") == ["needle1000"])
        let indexed: Query = "select count(*) from public.message_words where user_id = \(caller.userID.uuid)"
        #expect(try await store.count(indexed) <= 225)
        #expect(try await contents(search, caller, "needle700") == [])
        let indexer = MessageIndexer.postgres(client: store.gateway)
        while try await indexer.indexPart(caller.userID) {}
        #expect(try await contents(search, caller, "needle700") == ["needle700"])
        #expect(try await store.count(indexed) == 1002)
    }

    /// Of text without a space PostgreSQL's parser would read each rest again.
    @Test("long messages are indexed in parts that a statement has time for", arguments: [" 東", "a_1-", "@a1."])
    func longMessages(text: String) async throws {
        let (store, caller, search) = try await newcomer(locale: nil)
        let conversation = try await store.turns().talk(caller, "hay", answer: "hay").conversationID
        try await store.admin.execute(
            """
            insert into public.messages (user_id, conversation_id, seq, role, content, token_count, change)
            select \(caller.userID.uuid), \(conversation.uuid), 2 + n, 'user', 'needle' || n || ' ' || repeat(\(text), 2000), 1, n
            from generate_series(1, 200) n
            """)
        try await store.admin.execute("update public.change_counters set last_change = 200 where user_id = \(caller.userID.uuid)")
        #expect(try await search.search(caller, "needle200", PageRequest(limit: 1)).items.count == 1)
        let indexed: Query = "select count(*) from public.message_words where user_id = \(caller.userID.uuid)"
        // 150,000 bytes of the oldest, and as many of the newest.
        let atOnce = 2 * 150_000 / (2000 * text.utf8.count)
        #expect((atOnce - 8...atOnce + 8).contains(try await store.count(indexed)))
        let indexer = MessageIndexer.postgres(client: store.gateway)
        while try await indexer.indexPart(caller.userID) {}
        #expect(try await store.count(indexed) == 202)
    }

    @Test("finds what is indexed while another transaction keeps the lock on the index")
    func lockedIndex() async throws {
        let (store, caller, search) = try await newcomer(locale: "en")
        try await store.turns().talk(caller, "a needle", answer: "hay")
        #expect(try await contents(search, caller, "needle") == ["a needle"])
        try await store.turns().talk(caller, "a second needle")
        try await store.admin.withTransaction { lease in
            try await lease.execute("select from gateway.search_progress where user_id = \(caller.userID.uuid) for update")
            #expect(try await contents(search, caller, "needle") == ["a needle"])
        }
        #expect(try await contents(search, caller, "needle") == ["a second needle", "a needle"])
    }

    @Test("has a language for each locale that PostgreSQL has one for, by the whole language subtag")
    func languages() async throws {
        let store = try await StoreFixture.shared()
        let missing: Query = """
            select count(*) from pg_ts_config c where c.cfgname not in (
                select gateway.search_language(l || '-XX') from unnest(string_to_array(
                    'ar,ca,da,de,el,en,es,eu,fi,fr,ga,hi,hu,hy,id,it,lt,nb,ne,nl,pt,ro,ru,sr,sv,ta,tr,yi,zz', ',')) l)
            """
        #expect(try await store.count(missing) == 0)
        for (locale, language) in [
            ("fil-PH", "simple"), ("fi", "finnish"), ("nb-NO", "norwegian"), ("nn", "norwegian"), ("HU-hu", "hungarian"),
            ("sr-Latn-RS", "serbian"), ("zh-Hant", "simple"), ("de_DE", "german"), ("pt_BR", "portuguese"),
        ] {
            #expect(try await store.value("select gateway.search_language(\(locale))") == language, "\(locale)")
        }
    }

    @Test("the index of a message is removed with it")
    func removal() async throws {
        let (store, caller, search) = try await newcomer(locale: "en")
        let conversation = try await store.turns().talk(caller, "canary").conversationID
        #expect(try await contents(search, caller, "canary") == ["canary"])
        _ = try await store.conversations.delete(caller, conversation, nil)
        try await store.admin.execute(
            "update public.conversations set deleted_at = now() - interval '1 year' where user_id = \(caller.userID.uuid)")
        _ = try await Housekeeping.postgres(client: store.gateway, daysKept: 30).purge()
        #expect(try await store.count("select count(*) from public.message_words where user_id = \(caller.userID.uuid)") == 0)
    }
}
