import EventStream
import TestSupport
import Testing

struct EventStreamEncoderTests {
    @Test("an event with an id is two lines and a blank one")
    func event() {
        var output: [UInt8] = []
        EventStreamEncoder.beginEvent(id: 1234, into: &output)
        output += Array("{}".utf8)
        EventStreamEncoder.endEvent(into: &output)
        #expect(text(output) == "id: 1234\ndata: {}\n\n")
    }

    @Test("ping and retry are blocks without data")
    func others() {
        var output: [UInt8] = []
        EventStreamEncoder.appendPing(into: &output)
        EventStreamEncoder.appendRetry(milliseconds: 500, into: &output)
        #expect(text(output) == ": ping\n\nretry: 500\n\n")
    }
}
