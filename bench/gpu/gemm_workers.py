"""Processes that answer requests, one JSON object a line each way, for bench_gemm: several at once, beside the measuring one."""

import concurrent.futures
import json
import subprocess
import threading


class Workers:
    """count processes of one command, started as they are needed. A request whose process ends, or takes longer than so many
    seconds, is answered by {"refused": why}, and the next one gets a new process."""

    def __init__(self, command, count, env=None, seconds=60):
        self.command, self.env, self.seconds, self.own = command, env, seconds, threading.local()
        self.all, self.threads = [], concurrent.futures.ThreadPoolExecutor(count)

    def submit(self, request):
        return self.threads.submit(self._ask, json.dumps(request))

    def close(self):
        self.threads.shutdown(cancel_futures=True)
        for process in self.all:
            with process:  # closes its ends, so that it sees the last request, and waits
                pass

    def _ask(self, line):
        process = getattr(self.own, "process", None)
        if process is None or process.poll() is not None:
            process = self.own.process = subprocess.Popen(self.command, text=True, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.all.append(process)
        clock = threading.Timer(self.seconds, process.kill)
        clock.start()
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        clock.cancel()
        if answer:
            return json.loads(answer)
        process.wait()
        return {"refused": f"{self.command[0]} ended without an answer, or took over {self.seconds} s"}
