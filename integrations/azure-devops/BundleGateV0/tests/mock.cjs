// The task with the library's mocks: a bundlegate that exits with 0.
const { TaskMockRunner } = require("azure-pipelines-task-lib/mock-run");
const path = require("node:path");

const runner = new TaskMockRunner(path.join(__dirname, "../dist/index.js"));
runner.setInput("command", "check");
runner.setInput("plan", "gate");
runner.setInput("target", "prod");
runner.registerMock("./install", { find: async () => "/tools/bundlegate" });
runner.registerMock("./arguments", { ...require("../dist/arguments.js"), reports: () => false });
runner.setAnswers({ exec: { "/tools/bundlegate check --target=prod -- gate": { code: 0, stdout: "open" } } });
runner.run();
