import Glibc

/// Parses the received bytes and records the results.
extension LoadRun {
    func read(_ index: Int, _ bytes: UnsafeRawBufferPointer, at now: UInt64) {
        let stream = streams + index
        var bytes = bytes
        if isMeasuring, stream.pointee.isAnswered { figures.silences.record(now - stream.pointee.lastByteAt) }
        stream.pointee.lastByteAt = now
        if stream.pointee.phase == .head {
            if !stream.pointee.isAnswered {
                stream.pointee.isAnswered = true
                if countsBeginnings { figures.begin.record(now - stream.pointee.sentAt) }
            }
            let (count, isComplete) = stream.pointee.head.take(bytes)
            guard isComplete else { return }
            bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
            parseHead(stream)
            stream.pointee.phase = .body
        }
        guard stream.pointee.phase == .body else { return }
        if figures.firstRejection.isEmpty, stream.pointee.status != 200 {
            figures.firstRejection = "\(stream.pointee.status): " + String(decoding: bytes.prefix(600), as: UTF8.self)
        }
        // Copied to local variables, because two properties of one structure cannot be mutated at the same time.
        var scanner = stream.pointee.scanner
        var reader = stream.pointee.reader
        let hasEnded = reader.take(bytes) { data in
            scanner.scan(data) { stamp in found(stamp, stream, at: now) }
        }
        stream.pointee.scanner = scanner
        stream.pointee.reader = reader
        guard hasEnded else {
            if stream.pointee.disconnectsAt > 0, stream.pointee.tokens >= stream.pointee.disconnectsAt { disconnectEarly(index) }
            return
        }
        if figures.firstIncomplete.isEmpty, stream.pointee.status == 200, stream.pointee.tokens != plan.expectedTokens {
            figures.firstIncomplete = "\(stream.pointee.tokens) tokens, then: " + String(decoding: bytes.suffix(600), as: UTF8.self)
        }
        ended(index)
    }

    private func parseHead(_ stream: UnsafeMutablePointer<ClientStream>) {
        let head = stream.pointee.head
        stream.pointee.status = head.line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        stream.pointee.closesAfter = head.field("connection")?.lowercased() == "close"
        if head.field("transfer-encoding")?.lowercased().contains("chunked") == true {
            stream.pointee.reader = BodyReader(.chunked)
        } else {
            stream.pointee.reader = BodyReader(head.field("content-length").flatMap { Int($0) }.map { .length($0) } ?? .open)
        }
    }

    @inline(__always)
    private func found(_ stamp: UInt64?, _ stream: UnsafeMutablePointer<ClientStream>, at now: UInt64) {
        stream.pointee.tokens += 1
        figures.tokens += 1
        if stream.pointee.tokens == 1, countsBeginnings { figures.firstToken.record(now - stream.pointee.sentAt) }
        if isMeasuring {
            figures.windowTokens += 1
            if let stamp { figures.added.record(Stamp.age(of: stamp, at: now)) }
            if stream.pointee.tokens > 1 { figures.gaps.record(now - stream.pointee.lastTokenAt) }
        }
        stream.pointee.lastTokenAt = now
    }
}
