import EventStream
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

    @Test("ping, retry and an event without id")
    func others() {
        var output: [UInt8] = []
        EventStreamEncoder.appendPing(into: &output)
        EventStreamEncoder.appendRetry(milliseconds: 500, into: &output)
        EventStreamEncoder.beginEvent(into: &output)
        EventStreamEncoder.endEvent(into: &output)
        #expect(text(output) == ": ping\n\nretry: 500\n\ndata: \n\n")
    }

    @Test("line ends in data become data lines, and a name cannot forge a field")
    func lineEnds() throws {
        var output: [UInt8] = []
        EventStreamEncoder.appendEvent(name: "a\ndata: b", id: 3, data: "1\n2\r\n3\r4".utf8, into: &output)
        #expect(text(output) == "event: adata: b\nid: 3\ndata: 1\ndata: 2\ndata: 3\ndata: 4\n\n")
        #expect(try read([output]) == [EventStreamTests.event("1\n2\n3\n4", name: "adata: b", id: "3")])
    }
}
