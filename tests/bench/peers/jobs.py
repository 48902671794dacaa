"""The workers of the comparison: started on the hosts of a network, asked for one all-reduce at a time."""
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import time

NETNS = pathlib.Path(__file__).resolve().parents[2] / "net" / "netns.py"

# The same for every algorithm of Open MPI. Above the eager limit each message waits for an answer, which costs a round
# trip per round; busy polling ranks that share cores take turns.
OPEN_MPI = {
    "btl": "tcp,self",
    "btl_tcp_if_include": "eth0",
    "oob_tcp_if_include": "eth0",
    "btl_tcp_eager_limit": 1 << 20,
    "btl_tcp_rndv_eager_limit": 1 << 20,
    "btl_tcp_max_send_size": 1 << 20,
    "mpi_yield_when_idle": 1,
    "plm_rsh_no_tree_spawn": 1,
}
# Numbers of coll_tuned_allreduce_algorithm; none lets Open MPI decide.
OPEN_MPI_ALGORITHMS = {"mpi-default": None, "mpi-ring": 4, "mpi-segmented-ring": 5, "mpi-rabenseifner": 6}


class Failure(Exception):
    """A job cannot go on; the text names it."""


class Jobs:
    """Every job has one worker per host; all of them live for the whole run, so that each repetition asks each
    contestant in turn on warm connections. A worker that waits blocks in a read."""

    def __init__(self, network, build, count, timeout):
        self.network, self.build, self.count, self.timeout = network, pathlib.Path(build), count, timeout
        self.job_of = {}  # contestant: job
        self.left_out = {}  # contestant: why
        self._lines = {}  # (job, rank): file of the connection
        self._programs = {}  # job: its processes
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(network.directory / "control"))
        self._server.listen(1024)
        self._run("bench_peers_inputs", network.directory, network.hosts, count)

    def start_gloo(self, plans):
        """`plans`: contestant's name to plan directory, or None for CERAR's exact ring."""
        if not self._has("bench_peers_gloo"):
            self.left_out["gloo"] = "built without Gloo (libgloo-dev)"
            return
        named = [f"--plan={name}={directory}" if directory else f"--plan={name}" for name, directory in plans.items()]
        self._programs["gloo"] = [
            self.network.start(rank, [self.build / "bench_peers_gloo", *self._options("gloo"), "--rank", rank,
                                      "--ranks", self.network.hosts, *named], stdin=subprocess.DEVNULL)
            for rank in range(self.network.hosts)]
        self._greet("gloo")

    def start_open_mpi(self, segment_bytes):
        mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
        if not self._has("bench_peers_mpi") or not mpirun:
            self.left_out["open mpi"] = "built without Open MPI (libopenmpi-dev, openmpi-bin)"
            return
        for name, number in OPEN_MPI_ALGORITHMS.items():
            settings = dict(OPEN_MPI, plm_rsh_agent=f"{sys.executable} {NETNS} enter",
                            orte_tmpdir_base=self.network.directory)
            if number is not None:
                settings.update(coll_tuned_use_dynamic_rules=1, coll_tuned_allreduce_algorithm=number)
            if name == "mpi-segmented-ring":
                settings.update(coll_tuned_allreduce_algorithm_segmentsize=segment_bytes)
            hosts = ",".join(f"h{rank}:1" for rank in range(self.network.hosts))
            command = [mpirun, "--allow-run-as-root", "-np", self.network.hosts, "-H", hosts, "--bind-to", "none"]
            for key, value in settings.items():
                command += ["--mca", key, value]
            self._programs[name] = [self.network.start(0, [*command, self.build / "bench_peers_mpi",
                                                           *self._options(name)], stdin=subprocess.DEVNULL)]
            self._greet(name)

    def all_reduce(self, contestant):
        """Runs one all-reduce on every rank; returns their answers in the order of ranks, with `frame_bytes`: what went
        over the link, headers of all frames and the two barriers included (None without a rate)."""
        before = self._frame_bytes()
        answers = self._ask(contestant)
        for answer, then, now in zip(answers, before, self._frame_bytes()):
            answer["frame_bytes"] = None if now is None else now - then
        return answers

    def finish(self):
        """Hangs up, which ends the workers, and waits for them."""
        for line in self._lines.values():
            line.close()
        for job, programs in self._programs.items():
            for program in programs:
                try:
                    status = program.wait(self.timeout)
                except subprocess.TimeoutExpired:
                    raise Failure(f"{job}: a worker does not end") from None
                if status != 0:
                    raise Failure(f"{job}: a worker ended with {status}")

    def _frame_bytes(self):
        return [self.network.queue(rank)["bytes"] if self.network.rate else None for rank in range(self.network.hosts)]

    def _ask(self, contestant):
        job = self.job_of[contestant]
        lines = [self._lines[job, rank] for rank in range(self.network.hosts)]
        for line in lines:
            line.write(contestant + "\n")
            line.flush()
        answers = []
        for rank, line in enumerate(lines):
            try:
                text = line.readline()
            except TimeoutError:
                raise Failure(f"{contestant}: rank {rank} gave no answer within {self.timeout} s") from None
            if not text:
                raise Failure(f"{contestant}: rank {rank} has died")
            answers.append(json.loads(text))
            if "failed" in answers[-1]:
                raise Failure(f"{contestant}: rank {rank}: {answers[-1]['failed']}")
        return answers

    def _greet(self, job):
        """Waits until all workers of a job have said which contestants they run."""
        deadline = time.monotonic() + self.timeout
        self._server.settimeout(0.5)
        for _ in range(self.network.hosts):
            while True:
                ended = [program.returncode for program in self._programs[job] if program.poll() is not None]
                if ended or time.monotonic() > deadline:
                    raise Failure(f"{job}: not all workers came; exit statuses so far: {ended}")
                try:
                    connection = self._server.accept()[0]
                    break
                except TimeoutError:
                    continue
            connection.settimeout(self.timeout)
            line = connection.makefile("rw")
            hello = json.loads(line.readline())
            self._lines[hello["job"], hello["rank"]] = line
            for name, why in hello["contestants"].items():
                if why:
                    self.left_out.setdefault(name, why)
                else:
                    self.job_of[name] = job
        for name in self.left_out:  # one rank that cannot is enough
            self.job_of.pop(name, None)

    def _options(self, job):
        return ["--control", self.network.directory / "control", "--directory", self.network.directory,
                "--job", job, "--count", self.count]

    def _has(self, program):
        return (self.build / program).exists()

    def _run(self, program, *arguments):
        done = subprocess.run([self.build / program, *map(str, arguments)], stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise Failure(done.stderr.strip() or f"{program} ended with {done.returncode}")


class Processors:
    """What the machine's processors did from here on, in percent of their time: `busy` with anything, and `steal`,
    which its host gave to others."""

    def __init__(self):
        self._begin = self._ticks()

    def percent(self):
        ticks = [now - then for now, then in zip(self._ticks(), self._begin)]
        total = max(1, sum(ticks))
        return {"busy": 100 * (total - ticks[3] - ticks[4]) / total, "steal": 100 * ticks[7] / total}

    @staticmethod
    def _ticks():
        with open("/proc/stat") as file:
            return [int(field) for field in file.readline().split()[1:9]]
