import Glibc
import Testing

@testable import Reactor

@Suite(.timeLimit(.minutes(1))) struct WatchTests {
    @Test("a level-triggered handler is called in every wake-up until the socket has been read")
    func levelTriggered() async throws {
        try await withReactor { reactor in
            let pair = SocketPair()
            let (near, far) = (pair.near, pair.far)
            let calls: Int = await reactor.waiting { done in
                let calls = Box(0)
                _ = try? reactor.watch(near, .read) { readiness in
                    calls.value += 1
                    guard readiness == .readable, calls.value == 3 else { return }
                    _ = receive(from: near)
                    done(calls.value)
                }
                send("x", to: far)
            }
            #expect(calls == 3)
            _ = pair
        }
    }

    @Test("an edge-triggered handler is called once for each arrival, and gets data and the peer's end in one call")
    func edgeTriggered() async throws {
        try await withReactor { reactor in
            let pair = SocketPair()
            let (near, far) = (pair.near, pair.far)
            let log: [Readiness] = await reactor.waiting { done in
                let log = Box<[Readiness]>([])
                _ = try? reactor.watch(near, [.read, .edge]) { readiness in
                    log.value.append(readiness)
                    if readiness.contains(.ending) { done(log.value) }
                }
                send("x", to: far)
                // Many wake-ups later the data is still unread, and was reported once.
                reactor.schedule(after: .milliseconds(10)) {
                    log.value.append([])
                    send("y", to: far)
                    shutdown(far, Int32(SHUT_WR))
                }
            }
            #expect(log == [.readable, [], [.readable, .ending]])
            _ = pair
        }
    }

    @Test("a token is never used twice, though its slot is")
    func tokens() {
        var table = WatchTable()
        var seen: Set<UInt64> = [Poller.wakeToken]
        for _ in 0..<3 {
            let watches = (0..<3).map { descriptor in
                let watch = Watch(descriptor: Int32(descriptor), interest: .read, token: table.nextToken)
                table.insert(watch, ClosureHandler { _ in })
                return watch
            }
            for watch in watches {
                #expect(seen.insert(watch.token).inserted)
                #expect(table[watch.token] === watch)
            }
            for watch in watches {
                #expect(
                    table.remove(watch.token) && !table.remove(watch.token) && table[watch.token] == nil
                        && table.handler(watch.token) == nil)
            }
        }
        #expect(table.all.isEmpty && table[Poller.wakeToken] == nil)
    }

    @Test("interest can change to writing, to nothing and back")
    func update() async throws {
        try await withReactor { reactor in
            let pair = SocketPair()
            let (near, far) = (pair.near, pair.far)
            let log: [Readiness] = await reactor.waiting { done in
                let log = Box<[Readiness]>([])
                let watch = Box<Watch?>(nil)
                watch.value = try? reactor.watch(near, [.read, .write]) { readiness in
                    log.value.append(readiness)
                    guard let current = watch.value else { return }
                    if readiness.contains(.writable) {
                        reactor.update(current, [])
                        // Would be reported at once if an empty interest did not suspend the watch.
                        send("x", to: far)
                        reactor.schedule(after: .milliseconds(10)) {
                            log.value.append([])
                            reactor.update(current, .read)
                        }
                    } else {
                        reactor.unwatch(current)
                        done(log.value)
                    }
                }
            }
            #expect(log == [.writable, [], .readable])
            _ = pair
        }
    }

    @Test("a hang-up of the peer is reported as failed and readable")
    func hangUp() async throws {
        try await withReactor { reactor in
            let pair = SocketPair()
            let (near, far) = (pair.near, pair.far)
            let readiness: Readiness = await reactor.waiting { done in
                let watch = Box<Watch?>(nil)
                watch.value = try? reactor.watch(near, .read) { readiness in
                    watch.value.map(reactor.unwatch)
                    done(readiness)
                }
                shutdown(far, Int32(SHUT_RDWR))
            }
            #expect(readiness == [.readable, .failed])
            _ = pair
        }
    }

    @Test("a handler can end another watch: its event of the same wake-up is dropped, also when the descriptor's number is used again")
    func staleEvent() async throws {
        try await withReactor { reactor in
            let calls: [String] = await reactor.waiting { done in
                let calls = Box<[String]>([])
                let watches = Box<[Int32: Watch]>([:])
                var ends: [(near: Int32, far: Int32)] = []
                for _ in 0..<2 {
                    var pair: [Int32] = [-1, -1]
                    socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair)
                    ends.append((pair[0], pair[1]))
                }
                let pairs = ends
                for index in 0..<2 {
                    let (mine, other) = (pairs[index].near, pairs[1 - index].near)
                    watches.value[mine] = try? reactor.watch(mine, .read) { _ in
                        calls.value.append("old")
                        _ = receive(from: mine)
                        // End the other, close it, and give its number to a socket that is not readable.
                        watches.value[other].map(reactor.unwatch)
                        var fresh: [Int32] = [-1, -1]
                        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &fresh)
                        dup2(fresh[0], other)
                        let heir = try? reactor.watch(other, .read) { _ in calls.value.append("new") }
                        reactor.schedule(after: .milliseconds(10)) {
                            heir.map(reactor.unwatch)
                            watches.value[mine].map(reactor.unwatch)
                            for fd in [pairs[0].near, pairs[0].far, pairs[1].near, pairs[1].far] + fresh { close(fd) }
                            done(calls.value)
                        }
                    }
                }
                for pair in pairs { send("x", to: pair.far) }
            }
            #expect(calls == ["old"])
        }
    }

    @Test("a watch whose descriptor was closed does not affect a new watch of the same number")
    func reusedNumber() async throws {
        try await withReactor { reactor in
            let text: String = await reactor.waiting { done in
                var pair: [Int32] = [-1, -1]
                socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair)
                // As high as numbers go: a test beside this one could take a low one as soon as it is closed.
                let number = fcntl(pair[0], F_DUPFD_CLOEXEC, highNumber)
                let old = try? reactor.watch(number, .read) { _ in done("old") }
                for descriptor in pair + [number] { close(descriptor) }
                var fresh: [Int32] = [-1, -1]
                socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &fresh)
                let reused = dup2(fresh[0], number)
                let far = fresh[1]
                _ = try? reactor.watch(reused, .read) { _ in done(receive(from: reused)) }
                old.map { reactor.update($0, .write) }
                old.map(reactor.unwatch)
                send("new", to: far)
            }
            #expect(text == "new")
        }
    }

    @Test("watching an invalid descriptor throws")
    func refused() async throws {
        try await withReactor { reactor in
            await #expect(throws: ReactorError(operation: "epoll_ctl add", code: EBADF)) {
                try await reactor.call { _ = try reactor.watch(999_999, .read) { _ in } }
            }
        }
    }
}

/// Near the limit of this process, where no other descriptors are.
private var highNumber: Int32 {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return Int32(clamping: limit.rlim_cur) - 16
}
