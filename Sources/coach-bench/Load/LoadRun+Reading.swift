import Glibc

/// What a client makes of the bytes that arrive.
extension LoadRun {
    func read(_ index: Int, _ bytes: UnsafeRawBufferPointer, at now: UInt64) {
        let lane = lanes + index
        var bytes = bytes
        if isMeasuring, lane.pointee.isAnswered { figures.silences.record(now - lane.pointee.lastByteAt) }
        lane.pointee.lastByteAt = now
        if lane.pointee.phase == .head {
            if !lane.pointee.isAnswered {
                lane.pointee.isAnswered = true
                if countsBeginnings { figures.begin.record(now - lane.pointee.sentAt) }
            }
            let (count, isComplete) = lane.pointee.head.take(bytes)
            guard isComplete else { return }
            bytes = UnsafeRawBufferPointer(rebasing: bytes[count...])
            understandHead(lane)
            lane.pointee.phase = .body
        }
        guard lane.pointee.phase == .body else { return }
        if figures.refusal.isEmpty, lane.pointee.status != 200 {
            figures.refusal = "\(lane.pointee.status): " + String(decoding: bytes.prefix(600), as: UTF8.self)
        }
        // Two parts of one structure: taken out, so that both may change.
        var scanner = lane.pointee.scanner
        var reader = lane.pointee.reader
        let hasEnded = reader.take(bytes) { data in
            scanner.scan(data) { stamp in found(stamp, lane, at: now) }
        }
        lane.pointee.scanner = scanner
        lane.pointee.reader = reader
        guard hasEnded else {
            if lane.pointee.leavesAt > 0, lane.pointee.tokens >= lane.pointee.leavesAt { leave(index) }
            return
        }
        if figures.oddity.isEmpty, lane.pointee.status == 200, lane.pointee.tokens != plan.expectedTokens {
            figures.oddity = "\(lane.pointee.tokens) tokens, then: " + String(decoding: bytes.suffix(600), as: UTF8.self)
        }
        ended(index)
    }

    private func understandHead(_ lane: UnsafeMutablePointer<Lane>) {
        let head = lane.pointee.head
        lane.pointee.status = head.line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        lane.pointee.closesAfter = head.field("connection")?.lowercased() == "close"
        if head.field("transfer-encoding")?.lowercased().contains("chunked") == true {
            lane.pointee.reader = BodyReader(.chunked)
        } else {
            lane.pointee.reader = BodyReader(head.field("content-length").flatMap { Int($0) }.map { .length($0) } ?? .open)
        }
    }

    @inline(__always)
    private func found(_ stamp: UInt64?, _ lane: UnsafeMutablePointer<Lane>, at now: UInt64) {
        lane.pointee.tokens += 1
        figures.tokens += 1
        if lane.pointee.tokens == 1, countsBeginnings { figures.firstToken.record(now - lane.pointee.sentAt) }
        if isMeasuring {
            figures.windowTokens += 1
            if let stamp { figures.added.record(Stamp.age(of: stamp, at: now)) }
            if lane.pointee.tokens > 1 { figures.gaps.record(now - lane.pointee.lastTokenAt) }
        }
        lane.pointee.lastTokenAt = now
    }
}
