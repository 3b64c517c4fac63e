"""Calls the made-up operations with python3-grpcio, knowing of them only what the server's reflection says.

Usage: client.py PORT. Prints one JSON object: what each call gave.
"""
import json
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

channel = grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}", options=[("grpc.max_send_message_length", -1)])
identity = lambda data: data


def reflect(version, symbol, pool):
    """Adds the files of a symbol to the pool; the two messages of the reflection protocol are read by hand."""
    name = symbol.encode()
    request = bytes([0x22, len(name)]) + name
    call = channel.stream_stream(f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo", identity, identity)
    (answer,) = list(call(iter([request])))
    bootstrap = descriptor_pb2.FileDescriptorProto(name=f"{version}.proto", package=version, syntax="proto3")
    files = bootstrap.message_type.add(name="Files")
    files.field.add(name="file", number=1, type=12, label=3)
    response = bootstrap.message_type.add(name="Response")
    response.field.add(name="files", number=4, type=11, type_name=f".{version}.Files", label=1)
    own = descriptor_pool.DescriptorPool()
    own.Add(bootstrap)
    parsed = message_factory.MessageFactory(own).GetPrototype(own.FindMessageTypeByName(f"{version}.Response"))()
    parsed.ParseFromString(answer)
    protos = [descriptor_pb2.FileDescriptorProto.FromString(data) for data in parsed.files.file]
    for proto in reversed(protos):
        pool.Add(proto)
    return sorted(proto.name for proto in protos)


pool = descriptor_pool.DescriptorPool()
result = {"files": reflect("v1", "signalbox.api.v1.WidgetService", pool)}
result["alpha_files"] = reflect("v1alpha", "signalbox.gateway.v1.AgentGateway.RegisterAgent", pool)
reflect("v1alpha", "grpc.health.v1.Health", pool)
factory = message_factory.MessageFactory(pool)


def call(service, method, fields, timeout=10, metadata=(), stream=False):
    described = pool.FindServiceByName(service).FindMethodByName(method)
    request = factory.GetPrototype(described.input_type)()
    json_format.ParseDict(fields, request)
    kind = channel.unary_stream if stream else channel.unary_unary
    run = kind(f"/{service}/{method}", lambda m: m.SerializeToString(), factory.GetPrototype(described.output_type).FromString)
    to_dict = lambda m: json_format.MessageToDict(m, preserving_proto_field_name=True)
    try:
        answer = run(request, timeout=timeout, metadata=metadata)
        return [to_dict(m) for m in answer] if stream else to_dict(answer)
    except grpc.RpcError as error:
        trailing = dict(error.trailing_metadata() or ())
        return {
            "code": error.code().name,
            "details": error.details(),
            "retry_after": trailing.get("retry-after"),
            "status_details": (trailing.get("grpc-status-details-bin") or b"").decode("utf-8", "replace"),
        }


widgets = "signalbox.api.v1.WidgetService"
widget = json.load(sys.stdin)
result["echo"] = call(widgets, "EchoWidget", {"widget": widget})
result["missing"] = call(widgets, "EchoWidget", {"widget": {**widget, "id": ""}})
result["update"] = call(widgets, "UpdateWidget", {"id": "a", "count": "0", "any": None, "clear_fields": ["note", "tags"]})
result["list"] = call(widgets, "ListWidgets", {"limit": 2})
result["delete"] = call(widgets, "DeleteWidget", {"id": "a"})
result["stream"] = call(widgets, "WatchWidgets", {"to": 500}, stream=True)
result["stream_failed"] = call(widgets, "WatchWidgets", {"to": 5, "fail_at": 3}, stream=True)
result["rate_limited"] = call(widgets, "FailWidget", {"how": "rate_limited"})
result["thrown"] = call(widgets, "FailWidget", {"how": "unexpected"})
result["deadline"] = call(widgets, "WaitWidget", {"ms": 5000}, timeout=0.3)
result["too_large"] = call(widgets, "DeleteWidget", {"id": "x" * (4 * 1024 * 1024 + 100)})
result["unauthenticated"] = call(widgets, "DeleteWidget", {"id": "a"}, metadata=[("authorization", "Bearer wrong")])
result["register"] = call("signalbox.gateway.v1.AgentGateway", "RegisterAgent", {"agent_id": "dev", "secret": "s"})
result["health"] = call("grpc.health.v1.Health", "Check", {"service": widgets})
result["health_unknown"] = call("grpc.health.v1.Health", "Check", {"service": "no.Such"})
print(json.dumps(result))
