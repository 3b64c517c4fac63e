"""An external agent for Signalbox: registers, receives tasks, stores memories, completes tasks.

It works until it is stopped (Ctrl-C), and connects again when the connection or the session is lost.
What it answers is made up in `answer`: put your own model, tool or person there.
"""
import logging
import os
import random
import sys
import threading
import time

import grpc

import gateway_pb2 as pb
from gateway_pb2_grpc import AgentGatewayStub

ADDRESS = os.environ.get("SIGNALBOX_GRPC", "localhost:9090")
AGENT_ID = os.environ.get("AGENT_ID", "python_agent")
SECRET = os.environ.get("AGENT_SECRET", "")
# PEM file with the CA of the server's certificate. Without it the connection is not encrypted.
ROOTS = os.environ.get("SIGNALBOX_CA")
# At most a third of the service's EXECUTION_LEASE_SECONDS: without a heartbeat for that long, the task goes to another agent.
HEARTBEAT_SECONDS = float(os.environ.get("HEARTBEAT_SECONDS", "10"))
TIMEOUT_SECONDS = 30
# Errors that registering again does not solve.
HOPELESS = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.INVALID_ARGUMENT)

log = logging.getLogger("agent")


def answer(task, memories):
    """The answer to a task, in Markdown. It is posted as a comment on the issue."""
    lines = [f"{AGENT_ID} has looked at **{task.task_name}** (`{task.canonical_trigger}`): {len(task.content)} characters."]
    if memories:
        lines.append("It remembers:")
        lines += [f"- {memory.content}" for memory in memories]
    return "\n".join(lines)


def work(gateway, session_id, task):
    """Carries out one task: searches memories, answers, and stores a memory."""
    log.info("task %s: %s", task.execution_id, task.task_name)
    known = gateway.MemorySearch(
        pb.MemorySearchRequest(
            session_id=session_id,
            query=task.content,
            scope=pb.MEMORY_SCOPE_AGENT,
            mode=pb.MEMORY_SEARCH_MODE_HYBRID,
            limit=3,
        ),
        timeout=TIMEOUT_SECONDS,
    )
    result = answer(task, known.memories)
    remember(gateway, session_id, task)
    gateway.CompleteTask(
        pb.CompleteTaskRequest(session_id=session_id, execution_id=task.execution_id, result=result),
        timeout=TIMEOUT_SECONDS,
    )


def remember(gateway, session_id, task):
    note = f"{task.task_name} on {task.canonical_trigger}, {time.strftime('%Y-%m-%d')}"
    try:
        gateway.MemoryStore(
            pb.MemoryStoreRequest(
                session_id=session_id,
                key=f"{AGENT_ID}:{task.execution_id}",
                content=note,
                scope=pb.MEMORY_SCOPE_AGENT,
            ),
            timeout=TIMEOUT_SECONDS,
        )
    except grpc.RpcError as error:
        # An earlier attempt at the same task has stored it.
        if error.code() != grpc.StatusCode.ALREADY_EXISTS:
            raise


def attempt(gateway, session_id, task):
    """Reports a failed task, so that it can be retried. A task whose result was refused would be refused again."""
    try:
        work(gateway, session_id, task)
    except grpc.RpcError as error:
        if is_refusal(error):
            fail(gateway, session_id, task, f"{error.code().name}: {error.details()}", retryable=False)
        # NOT_FOUND: the task is no longer ours. The outer loop handles all other errors.
        elif error.code() != grpc.StatusCode.NOT_FOUND:
            raise
        else:
            log.warning("task %s was taken away: %s", task.execution_id, error.details())
    except Exception as error:
        fail(gateway, session_id, task, repr(error), retryable=True)


def is_refusal(error):
    """Whether the gateway refused a call because of its content, for example a result that is too large.

    It has the same code for too many calls, but then says when to retry.
    """
    if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
        metadata = [*(error.initial_metadata() or ()), *(error.trailing_metadata() or ())]
        return all(key != "retry-after" for key, _ in metadata)
    return error.code() == grpc.StatusCode.INVALID_ARGUMENT


def fail(gateway, session_id, task, reason, retryable):
    log.error("task %s failed: %s", task.execution_id, reason, exc_info=retryable)
    gateway.FailTask(
        pb.FailTaskRequest(
            session_id=session_id, execution_id=task.execution_id, error=reason[:10_000], retryable=retryable
        ),
        timeout=TIMEOUT_SECONDS,
    )


def beat(gateway, session_id, stop):
    """Sends heartbeats for the session and its tasks while the main thread works."""
    while not stop.wait(HEARTBEAT_SECONDS):
        try:
            gateway.Heartbeat(pb.HeartbeatRequest(session_id=session_id), timeout=TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            log.warning("heartbeat: %s", error.details())


def serve(gateway):
    """One session: from the registration until the task stream ends. Returns the error that ended it."""
    try:
        session = gateway.RegisterAgent(
            pb.RegisterAgentRequest(agent_id=AGENT_ID, secret=SECRET, version="1.0"), timeout=TIMEOUT_SECONDS
        )
    except grpc.RpcError as error:
        if error.code() in HOPELESS:
            sys.exit(f"not registered: {error.code().name}: {error.details()}")
        raise
    log.info("registered as %s, %d calls a minute", AGENT_ID, session.requests_per_minute)
    stop = threading.Event()
    threading.Thread(target=beat, args=(gateway, session.session_id, stop), daemon=True).start()
    try:
        tasks = gateway.ReceiveTasks(pb.ReceiveTasksRequest(session_id=session.session_id, max_in_flight=1))
        for task in tasks:
            attempt(gateway, session.session_id, task)
    finally:
        stop.set()


def main():
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    # Detects a silently lost connection within a minute.
    options = [("grpc.keepalive_time_ms", 30_000), ("grpc.keepalive_timeout_ms", 20_000)]
    if ROOTS:
        with open(ROOTS, "rb") as file:
            channel = grpc.secure_channel(ADDRESS, grpc.ssl_channel_credentials(file.read()), options)
    else:
        channel = grpc.insecure_channel(ADDRESS, options)
    gateway = AgentGatewayStub(channel)
    wait = 1
    while True:
        began = time.monotonic()
        try:
            serve(gateway)
        except grpc.RpcError as error:
            log.warning("%s: %s", error.code().name, error.details())
        # Exponential backoff, reset after a successful session.
        wait = 1 if time.monotonic() - began > 60 else min(wait * 2, 30)
        # A random time, so that agents that lost the service together do not return together.
        time.sleep(wait * random.uniform(0.5, 1.5))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
