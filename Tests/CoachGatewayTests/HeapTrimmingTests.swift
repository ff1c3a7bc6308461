import CGatewayShims
import Glibc
import Logging
import Reactor
import RelayTestSupport
import TestSupport
import Testing
import TokenRelay

@testable import coach_gateway

@Suite("Trimming the heap beside a stream")
struct HeapTrimmingTests {
    @Test("a stream counts whose turn is in no registry: one that has ended, or runs on another instance")
    func isStreaming() throws {
        let reactor = try Reactor(name: "trimming")
        reactor.start()
        defer { reactor.stop() }
        let streamLoop = StreamLoop(reactor: reactor)
        let trimming = HeapTrimming(registry: TurnRegistry(), streamLoop: streamLoop, logger: Logger(label: "test"))
        #expect(!trimming.isStreaming)
        let stream = try ProbeStream(reactor, streamLoop)
        #expect(trimming.isStreaming)
        withExtendedLifetime(stream) {}
    }

    @Test("the largest trim that is permitted beside a stream delays none of its tokens by more than 5 ms")
    func delay() async throws {
        let reactor = try Reactor(name: "trimming")
        reactor.start()
        defer { reactor.stop() }
        // Mebibytes.
        let used = 30
        let freed = try #require(
            (1...500).last {
                HeapSlack().isWorthTrimming(.init(resident: (used + $0) << 20, used: used << 20), isStreaming: true)
            })
        let stream = try ProbeStream(reactor, clock: .elapsed)
        let heap = ReactorBound(Heap(), to: reactor)
        var longest = Duration.seconds(1)
        // The best of many, because a token may also have to wait for a processor.
        for _ in 0..<20 where longest > .milliseconds(5) {
            heap.submit { $0.fill(used: used << 20, freed: freed << 20) }
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                reactor.submit { continuation.resume() }
            }
            // The token that waited for the heap to be filled does not count.
            stream.reset()
            try await eventually { stream.tokens > 2 }
            stream.reset()
            gateway_heap_trim()
            let tokens = stream.tokens
            try await eventually { stream.tokens > tokens + 1 }
            longest = min(longest, stream.longest)
            heap.submit { $0.empty() }
        }
        #expect(longest <= .milliseconds(5), "\(longest), \(freed) MiB")
    }
}

/// Blocks of 0.5 to 4 KiB, as after many requests. Use only on a reactor's thread, so that malloc takes them from the arena from which it also
/// serves that thread's streams.
private final class Heap {
    private var blocks: [UnsafeMutableRawBufferPointer] = []
    private var generator = SeededGenerator(state: 1)

    /// - Parameters:
    ///   - used: bytes that stay in use.
    ///   - freed: bytes in holes between them, each of several pages.
    func fill(used: Int, freed: Int) {
        var holes: [UnsafeMutableRawBufferPointer] = []
        var (kept, dropped) = (0, 0)
        while kept + dropped < used + freed {
            let isHole = dropped * used < kept * freed
            for _ in 0..<16 {
                let block = UnsafeMutableRawBufferPointer.allocate(
                    byteCount: .random(in: 512...4096, using: &generator), alignment: 16)
                block.initializeMemory(as: UInt8.self, repeating: 1)
                if isHole {
                    holes.append(block)
                    dropped += block.count
                } else {
                    blocks.append(block)
                    kept += block.count
                }
            }
        }
        for hole in holes { hole.deallocate() }
    }

    func empty() {
        for block in blocks { block.deallocate() }
        blocks = []
    }
}
