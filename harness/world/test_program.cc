// A program with many little modes, each of which uses one piece of the kernel's interface in plain C. Tests run it
// under the harness and without it, and compare. `test_program MODE [SECONDS]`.
#include <errno.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace {

double unit = 1;
volatile sig_atomic_t signals_seen = 0;
volatile sig_atomic_t last_value = 0;

timespec seconds(double s) {
  const auto whole = static_cast<time_t>(s);
  return {whole, static_cast<long>((s - static_cast<double>(whole)) * 1e9)};
}

timeval micro(double s) {
  const timespec t = seconds(s);
  return {t.tv_sec, t.tv_nsec / 1000};
}

void say(const char* what, long result) {
  std::printf("%s %ld %s\n", what, result, result < 0 ? strerrorname_np(errno) : "-");
}

void on_signal(int) { signals_seen = signals_seen + 1; }
void on_value(int, siginfo_t* info, void*) {
  signals_seen = signals_seen + 1;
  last_value = info->si_value.sival_int;
}

void catch_signal(int number, int flags = 0) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

// A child that waits for half a unit, sends `number` to us (0: only exits) and ends.
pid_t signal_later(int number) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child != 0) return child;
  const timespec half = seconds(unit / 2);
  nanosleep(&half, nullptr);
  if (number != 0) kill(getppid(), number);
  _exit(0);
}

void alarm_default() {
  alarm(1);
  pause();
}

void interval_timer() {
  catch_signal(SIGALRM);
  const itimerval timer{micro(unit), micro(unit)};
  setitimer(ITIMER_REAL, &timer, nullptr);
  while (signals_seen < 5) pause();
  say("ticks", signals_seen);
}

void posix_timer() {
  struct sigaction action {};
  action.sa_sigaction = on_value;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGUSR1;
  event.sigev_value.sival_int = 42;
  timer_t timer{};
  say("create", timer_create(CLOCK_MONOTONIC, &event, &timer));
  const itimerspec when{{}, seconds(unit)};
  say("settime", timer_settime(timer, 0, &when, nullptr));
  while (signals_seen == 0) pause();
  say("value", last_value);
}

void say_sleep(int result, const timespec& left) {
  const double share = (static_cast<double>(left.tv_sec) + static_cast<double>(left.tv_nsec) / 1e9) / unit;
  say("sleep", result);
  std::printf("about half is left: %s, handled %d\n", share > 0.2 && share <= 0.5 ? "yes" : "no",
              static_cast<int>(signals_seen));
}

void interrupted_sleep(int signal_of_child, int caught) {
  catch_signal(caught);
  signal_later(signal_of_child);
  timespec left{};
  const timespec whole = seconds(unit);
  say_sleep(nanosleep(&whole, &left), left);
}

void interrupted_poll() {
  catch_signal(SIGTERM, SA_RESTART);  // poll is not restarted
  signal_later(SIGTERM);
  int ends[2];
  if (pipe(ends) != 0) return;
  pollfd fd{ends[0], POLLIN, 0};
  say("poll", poll(&fd, 1, -1));
  say("handled", signals_seen);
}

void interrupted_read(int flags) {
  catch_signal(SIGTERM, flags);
  int ends[2];
  if (pipe(ends) != 0) return;
  std::fflush(stdout);
  if (fork() == 0) {
    const timespec half = seconds(unit / 2);
    nanosleep(&half, nullptr);
    kill(getppid(), SIGTERM);
    nanosleep(&half, nullptr);
    _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
  }
  char byte = 0;
  say("read", read(ends[0], &byte, 1));
  say("handled", signals_seen);
}

void time_outs() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return;
  const timeval receive = micro(unit);
  setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof receive);
  char byte = 0;
  say("recv", recv(pair[0], &byte, 1, 0));
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pair[0], &set);
  timeval limit = micro(unit);
  say("select", select(pair[0] + 1, &set, nullptr, nullptr, &limit));
  say("left in the set", FD_ISSET(pair[0], &set) ? 1 : 0);
  FD_SET(pair[0], &set);
  const timespec exact = seconds(unit);
  say("pselect", pselect(pair[0] + 1, &set, nullptr, nullptr, &exact, nullptr));
  pollfd fd{pair[0], POLLIN, POLLIN};
  say("poll", poll(&fd, 1, static_cast<int>(unit * 1000)));
  say("revents", fd.revents);
  say("ppoll", ppoll(&fd, 1, &exact, nullptr));
  const int epoll = epoll_create1(0);
  epoll_event event{EPOLLIN, {}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event);
  say("epoll", epoll_wait(epoll, &event, 1, static_cast<int>(unit * 1000)));
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  say("sigtimedwait", sigtimedwait(&signals, nullptr, &exact));
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  timespec when{};
  clock_gettime(CLOCK_REALTIME, &when);
  const double target = static_cast<double>(when.tv_nsec) / 1e9 + unit;
  when = {when.tv_sec + static_cast<time_t>(target), static_cast<long>(std::fmod(target, 1) * 1e9)};
  pthread_mutex_lock(&mutex);
  std::printf("cond %s\n", strerrorname_np(pthread_cond_timedwait(&condition, &mutex, &when)));
}

void absolute_sleep() {
  timespec when{};
  clock_gettime(CLOCK_MONOTONIC, &when);
  when.tv_sec += static_cast<time_t>(unit);
  say("sleep", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr));
  say("again", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr));
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  say("reached", now.tv_sec > when.tv_sec || (now.tv_sec == when.tv_sec && now.tv_nsec >= when.tv_nsec) ? 1 : 0);
}

void longest_sleep() {
  const timespec most{0x7fffffff, 0};
  say("sleep", nanosleep(&most, nullptr));
}

// SIGCHLD is let through only while waiting for it, and comes before the wait: the classic that loses wake-ups when
// done wrong.
void suspended(bool with_ppoll) {
  catch_signal(SIGCHLD);
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGCHLD);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  std::fflush(stdout);
  if (fork() == 0) _exit(3);
  const timespec nap = seconds(unit);
  say("sleep", nanosleep(&nap, nullptr));
  say("before", signals_seen);
  if (with_ppoll) {
    say("ppoll", ppoll(nullptr, 0, nullptr, &before));
  } else {
    say("sigsuspend", sigsuspend(&before));
  }
  say("after", signals_seen);
  int status = 0;
  wait(&status);
  say("status", WEXITSTATUS(status));
}

void vfork_and_exec() {
  std::fflush(stdout);
  const pid_t good = vfork();
  if (good == 0) {
    execl("/bin/sh", "sh", "-c", "sleep 1; exit 4", nullptr);
    _exit(99);
  }
  const pid_t bad = vfork();
  if (bad == 0) {
    execl("/no/such/program", "x", nullptr);
    _exit(5);
  }
  int status = 0;
  waitpid(bad, &status, 0);
  say("bad", WEXITSTATUS(status));
  siginfo_t info{};
  say("waitid", waitid(P_PID, static_cast<id_t>(good), &info, WEXITED));
  say("good", info.si_status);
  say("none", waitpid(-1, &status, 0));
}

// Two deaths of children by signals, and one by abort.
void child_ends() {
  for (const int number : {SIGTERM, SIGABRT}) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      raise(number);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    say("signal", WTERMSIG(status));
  }
}

void daemon_twice() {
  std::fflush(stdout);
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      const timespec nap = seconds(unit);
      nanosleep(&nap, nullptr);
      FILE* file = std::fopen("daemon.txt", "w");
      std::fputs("done\n", file);
      std::fclose(file);
      _exit(0);
    }
    _exit(0);
  }
  wait(nullptr);
  say("started", 1);
}

void* sleep_in_thread(void* result) {
  const timespec nap = seconds(unit);
  *static_cast<int*>(result) = nanosleep(&nap, nullptr);
  return nullptr;
}

void join_threads() {
  int results[4] = {9, 9, 9, 9};
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], nullptr, sleep_in_thread, &results[i]);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  say("sum", results[0] + results[1] + results[2] + results[3]);
}

// The signal is for the main thread; the other one must sleep on to the end.
void signal_beside_thread() {
  catch_signal(SIGTERM);
  int result = 9;
  pthread_t thread{};
  pthread_create(&thread, nullptr, sleep_in_thread, &result);
  signal_later(SIGTERM);
  say("pause", pause());
  pthread_join(thread, nullptr);
  say("thread", result);
}

void* outlive_main(void*) {
  const timespec nap = seconds(unit);
  nanosleep(&nap, nullptr);
  say("outlived", 1);
  std::fflush(stdout);
  _exit(7);
}

void main_leaves_first() {
  pthread_t thread{};
  pthread_create(&thread, nullptr, outlive_main, nullptr);
  pthread_exit(nullptr);
}

void stopped_and_continued() {
  std::fflush(stdout);
  const pid_t parent = getpid();
  if (fork() == 0) {
    const timespec nap = seconds(unit);
    nanosleep(&nap, nullptr);
    kill(parent, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
  say("continued", 1);
  wait(nullptr);
}

void semaphore_time_out() {
  const int id = semget(IPC_PRIVATE, 1, 0600);
  sembuf take{0, -1, 0};
  const timespec limit = seconds(unit);
  say("semtimedop", semtimedop(id, &take, 1, &limit));
}

void queue_time_out() {
  mq_attr shape{};
  shape.mq_maxmsg = 1;
  shape.mq_msgsize = 8;
  const mqd_t queue = mq_open("/halfsent-test", O_CREAT | O_RDWR, 0600, &shape);
  char message[8];
  timespec when{};
  clock_gettime(CLOCK_REALTIME, &when);
  say("mq_timedreceive", mq_timedreceive(queue, message, sizeof message, nullptr, &when));
}

void spin_on_waitpid() {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const timespec nap = seconds(unit);
    nanosleep(&nap, nullptr);
    _exit(6);
  }
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
  }
  say("status", WEXITSTATUS(status));
}

void shared_memory() {
  const int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  say("attached", id >= 0 && shmat(id, nullptr, 0) != reinterpret_cast<void*>(-1) ? 1 : 0);
}

const std::map<std::string, std::function<void()>> modes = {
    {"shared_memory", shared_memory},
    {"alarm", alarm_default},
    {"interval", interval_timer},
    {"posix_timer", posix_timer},
    {"term_sleep", [] { interrupted_sleep(SIGTERM, SIGTERM); }},
    {"chld_sleep", [] { interrupted_sleep(0, SIGCHLD); }},
    {"term_poll", interrupted_poll},
    {"term_read", [] { interrupted_read(0); }},
    {"term_read_restart", [] { interrupted_read(SA_RESTART); }},
    {"time_outs", time_outs},
    {"absolute", absolute_sleep},
    {"longest", longest_sleep},
    {"sigsuspend", [] { suspended(false); }},
    {"ppoll_mask", [] { suspended(true); }},
    {"vfork", vfork_and_exec},
    {"child_ends", child_ends},
    {"daemon", daemon_twice},
    {"join", join_threads},
    {"signal_beside_thread", signal_beside_thread},
    {"main_leaves", main_leaves_first},
    {"stop", stopped_and_continued},
    {"semtimedop", semaphore_time_out},
    {"mq", queue_time_out},
    {"spin_wait", spin_on_waitpid},
};

}  // namespace

int main(int count, char** arguments) {
  const auto mode = count > 1 ? modes.find(arguments[1]) : modes.end();
  if (mode == modes.end()) return 64;
  if (count > 2) unit = std::strtod(arguments[2], nullptr);
  mode->second();
  return 0;
}
