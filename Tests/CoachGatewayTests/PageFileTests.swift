import Foundation
import TestSupport
import Testing

@testable import OperatorAPI

@Suite("Files of the pages")
struct PageFileTests {
    @Test("the executable has each file of the pages, as it is")
    func files() throws {
        let folder = Project.root.appending(path: "Sources/CPageFiles/Static")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count > 20)
        for name in names { #expect(try PageFile(name).bytes == Array(Data(contentsOf: folder.appending(path: name))), "\(name)") }
    }
}
