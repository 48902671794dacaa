#!/usr/bin/env python3
"""The package as others use it: package_test.py CASE SOURCE_DIR BUILD_DIR WORK_DIR [LIBRARY...]. `install` stages the build
with DESTDIR, so that every other case finds the package away from the prefix that it was made for. The libraries are
those that CERAR has private copies of."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

CASE, SOURCE, BUILD, WORK = sys.argv[1], *map(pathlib.Path, sys.argv[2:5])
STAGED = WORK / "staged"
PREFIX = STAGED / "opt" / "cerar"
OWN = WORK / CASE
CACHE = {line.split(":")[0]: line.split("=", 1)[1]
         for line in (BUILD / "CMakeCache.txt").read_text().splitlines() if re.match(r"\w[^:]*:\w+=", line)}
HAS_MPI = CACHE.get("CERAR_WITH_MPI") == "ON"
HAS_GLOO = CACHE.get("CERAR_GLOO") == "ON"
COMPONENTS = ["gloo"] * HAS_GLOO + ["mpi"] * HAS_MPI
# A fresh environment: nothing here may help a library to be found. One process is an MPI job of one rank.
CLEAN = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "OMPI_ALLOW_RUN_AS_ROOT": "1",
         "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | {k: v for k, v in os.environ.items() if k.startswith("CCACHE_")}


def run(*words, fails=False, **environment):
    done = subprocess.run(list(map(str, words)), env=CLEAN | environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=800)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}\nexit status {done.returncode}")
    return done.stdout


def expect(condition, text):
    if not condition:
        sys.exit(text)


def libdir(prefix=PREFIX):
    return next(prefix.rglob("libcerar.*")).parent


def configure(project, into, *options, fails=False):
    words = ["cmake", "-G", "Ninja", "-S", project, "-B", into]
    return run(*words, f"-DPROGRAMS={SOURCE}/tests/package/programs", *options, fails=fails)


# The runtime is compiled again in two cases: quickly, and the second time from ccache where there is one.
QUICKLY = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0"]
QUICKLY += [f"-D{name}={CACHE[name]}" for name in ("CMAKE_CXX_COMPILER", "CMAKE_C_COMPILER") if name in CACHE]
if CACHE.get("CERAR_CCACHE", "").startswith("/"):
    QUICKLY += [f"-DCMAKE_{language}_COMPILER_LAUNCHER={CACHE['CERAR_CCACHE']}" for language in ("C", "CXX")]


def sum_between_processes(program, **environment):
    """Two processes and a store of files add whole numbers. Returns what each printed."""
    if not HAS_GLOO:
        return ["", ""]
    store = OWN / "store"
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir(parents=True)
    ranks = [subprocess.Popen([program, f"file:{store}", str(rank), "2"], env=CLEAN | environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for rank in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in ranks]
    for rank, (process, output) in enumerate(zip(ranks, outputs)):
        expect(process.returncode == 0 and f"rank {rank}: 0 of 10007 wrong" in output,
               f"{program} {environment}, rank {rank}: status {process.returncode}\n{output}")
    return outputs


def install():
    shutil.rmtree(WORK, ignore_errors=True)
    STAGED.mkdir(parents=True)
    run("cmake", "--install", BUILD, "--prefix", "/opt/cerar", DESTDIR=str(STAGED))
    expect(not pathlib.Path("/opt/cerar").exists() or "/opt/cerar" in str(BUILD), "DESTDIR was not heeded")


def symbols():
    """The libraries show the functions of the headers, no more, and need nothing that another library could bring."""
    declared = set()
    for header in (PREFIX / "include").glob("*.h"):
        declared |= set(re.findall(r"\b(cerar[A-Z]\w*)\(", re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)))
    expect(len(declared) >= 16, f"only {declared} are declared")
    shown = set()
    common = r"lib(stdc\+\+|m|gcc_s|c)\.so|ld-linux"
    for name, own in {"libcerar": "cerar_private_yaml|crypto", "libcerar_gloo": "cerar|cerar_private_gloo",
                      "libcerar_mpi": "cerar|mpi|mpich"}.items():
        library = libdir() / f"{name}.so"
        if name.removeprefix("libcerar_") not in ["libcerar", *COMPONENTS]:
            continue
        shown |= {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
        # With a version, or MPI's, or in a namespace that is CERAR's alone, or the hooks of the compiler's start-up code.
        allowed = r"@|^_?P?MPI_|^ompi_|4cglo|4CYML|^cerar[A-Z]|^(_ITM_|__gmon_start__|__cxa_finalize)"
        foreign = [line.split()[-1] for line in run("nm", "-D", "--undefined-only", library).splitlines()
                   if not re.search(allowed, line.split()[-1])]
        expect(not foreign, f"{name} takes from whichever library has them: {foreign}")
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", library))
        unknown = [one for one in needed if not re.match(rf"lib({own})\.so|{common}", one)]
        expect(not unknown, f"{name} needs {unknown}")
    expect(shown == declared, f"shown, not declared: {shown - declared}; declared, not shown: {declared - shown}")
    # Who uses threads or NCCL alone loads nothing of Gloo's.
    loaded = {line.split()[0] for line in run("ldd", libdir() / "libcerar.so").splitlines()}
    unknown = [one for one in loaded if not re.search(rf"lib(cerar_private_yaml|crypto)\.so|{common}|linux-vdso", one)]
    expect(not unknown, f"libcerar.so loads {unknown}")


def foreign():
    """Another library has every function of the libraries inside CERAR, and ends the process when one is called."""
    names = set()
    for library in sys.argv[5:]:
        for line in run("nm", "-D", "--defined-only", library).splitlines():
            name = line.split()[-1]
            if re.search(r"4gloo|4YAML|3fmt", name):
                names.add(name)
    expect(len(names) > 700, f"only {len(names)} symbols in {sys.argv[5:]}")
    lines = [".text", "trap: ud2" if "x86" in os.uname().machine else "trap: .long 0"]
    lines += [f".weak {name}\n.type {name}, @function\n.set {name}, trap" if index % 2 else
              f".globl {name}\n.type {name}, @function\n.set {name}, trap" for index, name in enumerate(sorted(names))]
    if not HAS_GLOO:
        return
    OWN.mkdir(exist_ok=True)
    (OWN / "foreign.s").write_text("\n".join(lines) + "\n.section .note.GNU-stack,\"\",@progbits\n")
    run("gcc", "-shared", OWN / "foreign.s", "-o", OWN / "libforeign.so")
    cerar = [f"-L{libdir()}", "-lcerar_gloo", "-lcerar", f"-Wl,-rpath,{libdir()}"]
    other = [f"-L{OWN}", "-lforeign", f"-Wl,-rpath,{OWN}"]
    for name, libraries in {"alone": cerar, "before": other + cerar, "after": cerar + other}.items():
        run("gcc", f"-I{PREFIX}/include", SOURCE / "tests/package/programs/sum.c", "-o", OWN / name, "-Wl,--no-as-needed", *libraries)
        sum_between_processes(OWN / name)
    sum_between_processes(OWN / "alone", LD_PRELOAD=str(OWN / "libforeign.so"))


def consumer():
    """A C project with the example, and a fresh plan."""
    tune = PREFIX / "bin" / "cerar-tune"
    configure(SOURCE / "tests/package/consumer", OWN, f"-DCMAKE_PREFIX_PATH={PREFIX}", f"-DEXAMPLES={SOURCE}/runtime/examples")
    run("cmake", "--build", OWN)
    run(tune, "--topology", "local", "--workers", 4, "--components", 32, "--out", OWN / "plan")
    output = run(OWN / "consumer", OWN / "plan", 100000)
    expect(output.count("c = 32") == 4, output)
    if HAS_MPI:
        expect("rank 0: error 0.00e+00" in run(OWN / "consumer_mpi", OWN / "plan", 1000), "a job of one rank is exact")
    expect("does not exist" in run(OWN / "consumer", OWN / "missing", fails=True), "no sentence for a missing plan")


def programs():
    """Installed programs start wherever they are."""
    moved = OWN / "elsewhere"
    shutil.rmtree(moved, ignore_errors=True)
    shutil.copytree(PREFIX, moved, symlinks=True)
    names = sorted(path.name for path in (moved / "bin").iterdir())
    expect({"cerar-bench", "cerar-tune"} <= set(names), f"only {names} are installed")
    for name in names:
        expect("Usage" in run(moved / "bin" / name, "--help"), f"{name} --help")


def strict(prefix, languages, components, *options, fails=False):
    into = OWN / "-".join(["project", *languages, *components])
    shutil.rmtree(into, ignore_errors=True)
    output = configure(SOURCE / "tests/package/consumer_strict", into, f"-DCMAKE_PREFIX_PATH={prefix}",
                       f"-DLANGUAGES={';'.join(languages)}", f"-DCOMPONENTS={';'.join(components)}", *options, fails=fails)
    if fails:
        return output
    run("cmake", "--build", into)
    if "gloo" in components:
        sum_between_processes(into / "sum")
    if "mpi" in components:
        expect("both libraries work together" in run(into / "sum_mpi"), f"{into}/sum_mpi")
    return output


def languages():
    """Projects of C alone and of C++ alone; a component that is not there is refused with the reason."""
    strict(PREFIX, ["C"], COMPONENTS)
    strict(PREFIX, ["CXX"], COMPONENTS)
    expect("there is no such component" in strict(PREFIX, ["CXX"], ["gpu"], fails=True), "component gpu")
    if HAS_MPI:
        output = strict(PREFIX, ["CXX"], ["mpi"], "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON", fails=True)
        expect("no MPI was found for CXX" in output, output)
        other = "mpicc.mpich" if "openmpi" in (libdir() / "pkgconfig/cerar_mpi.pc").read_text() else "mpicc.openmpi"
        if shutil.which(other):
            output = strict(PREFIX, ["C"], ["mpi"], f"-DMPI_C_COMPILER={shutil.which(other)}", fails=True)
            expect("this CERAR was built with libmpi" in output, output)
    for component, words in {"gloo": "built without Gloo", "mpi": "built without MPI"}.items():
        copy = OWN / f"without_{component}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(PREFIX, copy, symlinks=True)
        for targets in copy.rglob(f"cerar_{component}_targets.cmake"):
            targets.unlink()
        output = strict(copy, ["CXX"], [component], fails=True)
        expect(words in output, output)


def with_pkg_config(prefix, *options):
    path = {"PKG_CONFIG_PATH": str(libdir(prefix) / "pkgconfig")}
    for component in COMPONENTS:
        program = {"gloo": "sum", "mpi": "sum_mpi"}[component]
        flags = run("pkg-config", "--cflags", "--libs", *options, f"cerar_{component}", **path).split()
        run("gcc", SOURCE / f"tests/package/programs/{program}.c", "-o", OWN / program, *flags, f"-Wl,-rpath,{libdir(prefix)}")
    expect(run("pkg-config", "--modversion", "cerar", **path).strip() == CACHE["CMAKE_PROJECT_VERSION"], "version")
    sum_between_processes(OWN / "sum")
    if HAS_MPI:
        run(OWN / "sum_mpi")


def pkg_config():
    OWN.mkdir(exist_ok=True)
    with_pkg_config(PREFIX)


def debug_log():
    """CERAR_DEBUG says what is used and what fails, in whole lines that name the rank, and otherwise nothing."""
    OWN.mkdir(exist_ok=True)
    if HAS_GLOO:
        run("gcc", f"-I{PREFIX}/include", SOURCE / "tests/package/programs/sum.c", "-o", OWN / "sum", f"-L{libdir()}",
            "-lcerar_gloo", "-lcerar", f"-Wl,-rpath,{libdir()}")
    line = re.compile(r"cerar \S+:\d+ rank (-|\d+): .+")

    def check_lines(text, *parts):
        lines = [one for one in text.splitlines() if not one.startswith("rank ")]
        expect(lines and all(line.fullmatch(one) for one in lines), f"not whole lines:\n{text}")
        for part in parts:
            expect(re.search(part, text), f"{part} is not in\n{text}")

    if HAS_GLOO:
        expect("cerar" not in "".join(sum_between_processes(OWN / "sum") + sum_between_processes(OWN / "sum", CERAR_DEBUG="off")),
               "a log that nobody asked for")
        for rank, text in enumerate(sum_between_processes(OWN / "sum", CERAR_DEBUG="INFO")):
            check_lines(text, rf"CERAR {CACHE['CMAKE_PROJECT_VERSION']}, .*libcerar\.so", rf"rank {rank}: Gloo: rank {rank} offers \S+ \(.+\), met in the store file:.* with rank {1 - rank} offers \S+ \(.+\)",
                        rf"rank {rank}: rank {rank} of 2 over Gloo, without a plan",
                        rf"rank {rank}: all-reduce of 10007 elements of f32, sum: builtin-ring, 2 components")
        output = sum_between_processes(OWN / "sum", CERAR_DEBUG="loud")[0]
        expect(output.count("CERAR_DEBUG is 'loud' but must be info or off") == 1 and output.count("cerar ") == 1, output)
        # One file for each process, one for all of them, and none that can be written.
        apart = OWN / "logs"
        shutil.rmtree(apart, ignore_errors=True)
        apart.mkdir()
        sum_between_processes(OWN / "sum", CERAR_DEBUG="info", CERAR_DEBUG_FILE=f"{apart}/%h-%p-100%%")
        files = sorted(apart.iterdir())
        expect(len(files) == 2 and all(re.fullmatch(rf"{os.uname().nodename}-\d+-100%", file.name) for file in files), files)
        for _ in range(3):
            sum_between_processes(OWN / "sum", CERAR_DEBUG="info", CERAR_DEBUG_FILE=f"{apart}/all")
        text = (apart / "all").read_text()
        check_lines(text)
        expect(text.count("of 2 over Gloo") == 6, text)
        for text in sum_between_processes(OWN / "sum", CERAR_DEBUG="info", CERAR_DEBUG_FILE=f"{apart}/no/file"):
            check_lines(text, "CERAR_DEBUG_FILE: '.*/no/file' cannot be written .No such file or directory.", "of 2 over Gloo")
    tune, bench = PREFIX / "bin" / "cerar-tune", PREFIX / "bin" / "cerar-bench"
    run(tune, "--topology", "local", "--workers", 4, "--components", 32, "--out", OWN / "plan")
    (OWN / "bench.log").unlink(missing_ok=True)
    text = run(bench, "--plan", OWN / "plan", "-b", "4K", "-e", "64K", "-f", 2, "-n", 1, CERAR_DEBUG="info",
               CERAR_DEBUG_FILE=str(OWN / "bench.log")) and (OWN / "bench.log").read_text()
    check_lines(text, r"plan .*/plan: digest [0-9a-f]{64}, topology local, 4 workers", "rank 3: rank 3 of 4 over threads",
                "rank 2: all-reduce of 1024 elements of f32, sum: .*c32|rank 2: all-reduce of 1024 elements of f32, sum: .*32 components")
    # A failure is in the log with the sentence that the caller gets.
    if HAS_GLOO:
        text = run(OWN / "sum", "nowhere", 0, 2, fails=True, CERAR_DEBUG="info")
        check_lines("\n".join(one for one in text.splitlines() if one.startswith("cerar ")), "rank 0: invalid argument: .+")
        expect(text.count("libcerar") == 1, f"the process has one log, which names libcerar once:\n{text}")


def part():
    """CERAR as a part of a larger project, whose settings stay as they are."""
    options = ["-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON", f"-DCERAR_SOURCE={SOURCE}", *QUICKLY]
    configure(SOURCE / "tests/package/parent", OWN / "fetch", "-DWAY=fetch", *options)
    configure(SOURCE / "tests/package/parent", OWN / "part", *options)
    run("cmake", "--build", OWN / "part")
    sum_between_processes(OWN / "part" / "sum")
    if HAS_MPI:
        run(OWN / "part" / "sum_mpi")


def static():
    """A static library, by find_package and pkg-config."""
    prefix = OWN / "prefix"
    off = [f"-DCERAR_BUILD_{what}=OFF" for what in ("TUNER", "TESTS", "BENCH", "BENCHMARKS", "EXAMPLES", "GPU_PROGRAMS")]
    configure(SOURCE, OWN / "build", "-DBUILD_SHARED_LIBS=OFF", f"-DCMAKE_INSTALL_PREFIX={prefix}", *off, *QUICKLY)
    run("cmake", "--build", OWN / "build", "--target", "install")
    expect(not list(prefix.rglob("libcerar.so*")), "a shared library was installed")
    strict(prefix, ["C"], COMPONENTS)
    strict(prefix, ["CXX"], COMPONENTS)
    with_pkg_config(prefix, "--static")


globals()[CASE]()
