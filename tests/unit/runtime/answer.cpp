extern "C" int answer() { return ANSWER; }
