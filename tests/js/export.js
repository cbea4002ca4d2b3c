// One run, sent by OpenTelemetry's own exporter: node export.js ENDPOINT COMPRESSION. Prints its trace id.
import { SpanStatusCode, context, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const [url, compression] = process.argv.slice(2);
const exporter = new OTLPTraceExporter({ url, compression });
const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ "service.name": "desk" }),
  spanProcessors: [new BatchSpanProcessor(exporter)],
});
const tracer = provider.getTracer("demo.instrumentation");

const run = tracer.startSpan("invoke_agent desk", {
  attributes: { "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk" },
});
const inside = trace.setSpan(context.active(), run);
const call = tracer.startSpan(
  "execute_tool search",
  {
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "search",
      tries: 2,
      score: 0.5,
      exact: true,
      tags: ["a", "b"],
    },
  },
  inside,
);
call.addEvent("exception", { "exception.type": "Timeout" });
call.setStatus({ code: SpanStatusCode.ERROR, message: "timed out" });
call.end();
run.setAttribute("session.outcome", "failure");
run.end();
await provider.shutdown();
console.log(run.spanContext().traceId);
