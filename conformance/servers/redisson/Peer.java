import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntFunction;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RDoubleAdder;
import org.redisson.api.RIdGenerator;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateIntervalUnit;
import org.redisson.api.RateType;
import org.redisson.api.RLongAdder;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.NameMapper;
import org.redisson.connection.ServiceManager;

/**
 * A Redisson client whose calls come by lines. Its arguments are a server, or several, or the word cluster
 * and the nodes of one. Of several servers red locks use all, and all else uses the first. Each line of its
 * input is a call: a number, a method, the name of an object, and arguments. Calls run side by side; each
 * answers by a line with its number.
 */
@SuppressWarnings("deprecation") // Users have red locks.
public class Peer {
  private final List<RedissonClient> servers;
  private final RedissonClient redisson; // The first one.

  private Peer(List<RedissonClient> servers) {
    this.servers = servers;
    this.redisson = servers.get(0);
  }

  private static List<RedissonClient> connect(String[] args) {
    if (!args[0].equals("cluster")) {
      return Arrays.stream(args).map(server -> {
        Config config = config();
        config.useSingleServer().setAddress("redis://" + server).setConnectionMinimumIdleSize(2);
        return Redisson.create(config);
      }).toList();
    }
    Config config = config();
    config.useClusterServers().setMasterConnectionMinimumIdleSize(2)
        .addNodeAddress(Arrays.stream(args).skip(1).map(node -> "redis://" + node).toArray(String[]::new));
    return List.of(Redisson.create(config));
  }

  private static Config config() {
    Config config = new Config().setLockWatchdogTimeout(10000);
    try {
      config.setFairLockWaitTimeout(3000);
    } catch (LinkageError older) {
      // It has five minutes.
    }
    return config;
  }

  public static void main(String[] args) throws Exception {
    Peer peer = new Peer(connect(args));
    ExecutorService calls = Executors.newCachedThreadPool();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    say("0", "ready");
    for (String line; (line = lines.readLine()) != null; ) {
      String[] words = line.split(" ");
      calls.submit(() -> say(words[0], peer.answer(words)));
    }
    peer.servers.forEach(RedissonClient::shutdown);
    System.exit(0); // Also while calls wait.
  }

  private static synchronized void say(String number, Object answer) {
    System.out.println(number + " " + answer);
    System.out.flush();
  }

  private Object answer(String[] words) {
    try {
      return call(words[1], words[2], words);
    } catch (Throwable e) { // An older version lacks methods: an Error.
      return e.toString().replace('\n', ' ');
    }
  }

  private Object call(String method, String name, String[] words) throws Exception {
    return switch (method) {
      case "client.isSharded" -> // Whether its messages in a cluster are sharded.
          ((Redisson) redisson).getCommandExecutor().getConnectionManager().getSubscribeService().isShardingSupported();
      case "semaphore.trySetPermits" -> redisson.getSemaphore(name).trySetPermits(integer(words, 3));
      case "semaphore.availablePermits" -> redisson.getSemaphore(name).availablePermits();
      case "semaphore.drainPermits" -> redisson.getSemaphore(name).drainPermits();
      case "semaphore.acquire" -> {
        redisson.getSemaphore(name).acquire(integer(words, 3));
        yield "acquired";
      }
      case "semaphore.release" -> {
        redisson.getSemaphore(name).release(integer(words, 3));
        yield "released";
      }
      case "semaphore.addPermits" -> {
        redisson.getSemaphore(name).addPermits(integer(words, 3));
        yield "added";
      }
      case "permits.trySetPermits" -> permits(name).trySetPermits(integer(words, 3));
      case "permits.setPermits" -> {
        permits(name).setPermits(integer(words, 3));
        yield "set";
      }
      case "permits.addPermits" -> {
        permits(name).addPermits(integer(words, 3));
        yield "added";
      }
      case "permits.availablePermits" -> permits(name).availablePermits();
      case "permits.acquiredPermits" -> permits(name).acquiredPermits();
      case "permits.getPermits" -> permits(name).getPermits();
      case "permits.acquire" -> String.join(",", acquire(permits(name), integer(words, 3), integer(words, 4)));
      case "permits.tryRelease" -> !words[3].contains(",") ? permits(name).tryRelease(words[3]) ? 1 : 0
          : permits(name).tryRelease(List.of(words[3].split(",")));
      case "permits.updateLeaseTime" ->
          permits(name).updateLeaseTime(words[3], integer(words, 4), TimeUnit.MILLISECONDS);
      case "latch.trySetCount" -> redisson.getCountDownLatch(name).trySetCount(integer(words, 3));
      case "latch.getCount" -> redisson.getCountDownLatch(name).getCount();
      case "latch.delete" -> redisson.getCountDownLatch(name).delete();
      case "latch.countDown" -> {
        redisson.getCountDownLatch(name).countDown();
        yield "counted";
      }
      case "latch.await" -> {
        redisson.getCountDownLatch(name).await();
        yield "open";
      }
      case "ids.tryInit" -> generator(name).tryInit(integer(words, 3), integer(words, 4));
      case "ids.nextId" -> generator(name).nextId();
      case "longAdder.open" -> {
        if (longAdders.containsKey(name)
            && lacks(3, 38, "each object of a client answers, and PUBLISH counts one receiver: there is one object")) {
          yield "opened another";
        }
        yield longAdders.putIfAbsent(name, redisson.getLongAdder(name)) == null ? "opened" : "opened another";
      }
      case "longAdder.openMapped" -> { // By a client whose names begin with a prefix.
        yield longAdders.putIfAbsent(name, mapped(words[3]).getLongAdder(name)) == null ? "opened" : "opened another";
      }
      case "longAdder.add" -> {
        longAdders.get(name).add(Long.parseLong(words[3]));
        yield "added";
      }
      case "longAdder.addMany" -> addMany(longAdders.get(name), integer(words, 3));
      case "longAdder.sum" -> ask(longAdders.get(name)::sum);
      case "longAdder.reset" -> ask(Executors.callable(longAdders.get(name)::reset, "reset"));
      case "longAdder.destroy" -> {
        longAdders.remove(name).destroy();
        yield "destroyed";
      }
      case "doubleAdder.open" -> {
        doubleAdders.put(name, redisson.getDoubleAdder(name));
        yield "opened";
      }
      case "doubleAdder.add" -> {
        doubleAdders.get(name).add(Double.parseDouble(words[3]));
        yield "added";
      }
      case "doubleAdder.sum" -> ask(doubleAdders.get(name)::sum);
      case "doubleAdder.reset" -> ask(Executors.callable(doubleAdders.get(name)::reset, "reset"));
      case "keys.count" -> redisson.getKeys().getKeysStreamByPattern(name).count();
      case "keys.countEndless" -> redisson.getKeys().getKeysStreamByPattern(name)
          .filter(key -> redisson.getKeys().remainTimeToLive(key) == -1).count();
      case "long.get" -> redisson.getAtomicLong(name).get();
      case "long.addAndGet" -> redisson.getAtomicLong(name).addAndGet(Long.parseLong(words[3]));
      case "long.getAndSet" -> redisson.getAtomicLong(name).getAndSet(Long.parseLong(words[3]));
      case "long.getAndDelete" -> redisson.getAtomicLong(name).getAndDelete();
      case "long.compareAndSet" -> redisson.getAtomicLong(name)
          .compareAndSet(Long.parseLong(words[3]), Long.parseLong(words[4]));
      case "long.expire" -> redisson.getAtomicLong(name).expire(Duration.ofMillis(integer(words, 3)));
      case "long.remainTimeToLive" -> redisson.getAtomicLong(name).remainTimeToLive();
      case "double.get" -> redisson.getAtomicDouble(name).get();
      case "double.addAndGet" -> redisson.getAtomicDouble(name).addAndGet(Double.parseDouble(words[3]));
      case "double.set" -> {
        redisson.getAtomicDouble(name).set(Double.parseDouble(words[3]));
        yield "set";
      }
      case "rate.trySetRate" -> redisson.getRateLimiter(name).trySetRate( // All versions have this one.
          RateType.OVERALL, integer(words, 3), integer(words, 4), RateIntervalUnit.MILLISECONDS);
      case "rate.availablePermits" -> redisson.getRateLimiter(name).availablePermits();
      case "rate.tryAcquire" -> redisson.getRateLimiter(name).tryAcquire(integer(words, 3));
      case "rate.release" -> {
        redisson.getRateLimiter(name).release(integer(words, 3));
        yield "released";
      }
      case "rate.acquire" -> acquire(redisson.getRateLimiter(name), integer(words, 3));
      case "measure.shared" -> measure(i -> client(i).getLock(name), words);
      case "measure.own" -> measure(i -> redisson.getLock(name + i), words);
      default -> {
        String[] parts = method.split("\\.");
        yield call(lock(parts[0], name), parts[1], parts[0].equals("read") ? 1 : WRITER, words);
      }
    };
  }

  /** Clients that put a prefix before all names. */
  private final Map<String, RedissonClient> mapped = new ConcurrentHashMap<>();

  private RedissonClient mapped(String prefix) {
    return mapped.computeIfAbsent(prefix, p -> Redisson.create(Prefix.add(p, new Config(redisson.getConfig()))));
  }

  /** It is a class of its own because older versions have no such NameMapper. */
  private record Prefix(String prefix) implements NameMapper {
    static Config add(String prefix, Config config) {
      return config.setNameMapper(new Prefix(prefix));
    }

    @Override
    public String map(String name) {
      return prefix + name;
    }

    @Override
    public String unmap(String name) {
      return name.substring(prefix.length());
    }
  }

  private RPermitExpirableSemaphore permits(String name) {
    return redisson.getPermitExpirableSemaphore(name);
  }

  /** Whether this version of Redisson is older than that one. If so, it says on standard error what that one mended. */
  private static boolean lacks(int major, int minor, String mended) {
    String[] version = Redisson.class.getPackage().getImplementationVersion().split("\\.");
    boolean old = Integer.parseInt(version[0]) * 1000 + Integer.parseInt(version[1]) < major * 1000 + minor;
    if (old) {
      System.err.println("Redisson " + String.join(".", version) + ": before " + major + "." + minor + " " + mended);
    }
    return old;
  }

  /** Acquires n permits, for so many milliseconds or for ever. */
  private List<String> acquire(RPermitExpirableSemaphore permits, int n, int millis) throws Exception {
    if (n > 1 && lacks(3, 51, "a release does not wake a waiter for several permits (6664): several wait for one each")) {
      List<String> ids = new ArrayList<>();
      for (Future<List<String>> one : threads.invokeAll(
          Collections.nCopies(n, (Callable<List<String>>) () -> acquire(permits, 1, millis)))) {
        ids.addAll(one.get());
      }
      return ids;
    }
    if (n == 1) { // The oldest versions have no other.
      return List.of(millis == 0 ? permits.acquire() : permits.acquire(millis, TimeUnit.MILLISECONDS));
    }
    return millis == 0 ? permits.acquire(n) : permits.acquire(n, millis, TimeUnit.MILLISECONDS);
  }

  /** Acquires one permit after the other for so many milliseconds. */
  private static Object acquire(RRateLimiter limiter, int millis) throws Exception {
    long end = System.nanoTime() + Duration.ofMillis(millis).toNanos();
    int times = 0;
    for (; System.nanoTime() < end; times++) {
      limiter.acquire();
      Thread.sleep(ThreadLocalRandom.current().nextInt(3));
    }
    return "acquired " + times;
  }

  /** Adders keep what they have counted. */
  private final Map<String, RLongAdder> longAdders = new ConcurrentHashMap<>();

  private final Map<String, RDoubleAdder> doubleAdders = new ConcurrentHashMap<>();

  /** Asks for a sum, or resets. Where the answer may be missed, it asks again. */
  private <T> T ask(Callable<T> request) throws Exception {
    for (; ; ) {
      Future<T> answer = threads.submit(request);
      try {
        return answer.get(3, TimeUnit.SECONDS);
      } catch (TimeoutException late) {
        if (!lacks(3, 28, "an adder may miss the message that all have answered (5762): it asks again")) {
          return answer.get();
        }
        redisson.getKeys().deleteByPattern("*:semaphore"); // The request's, which stay otherwise.
        redisson.getKeys().deleteByPattern("*:counter");
      }
    }
  }

  /** Adds 1 so many times, and asks for the sum now and then: it must not fall. */
  private Object addMany(RLongAdder adder, int times) throws Exception {
    long last = 0;
    for (int i = 1; i <= times; i++) {
      adder.increment();
      if (i % (times / 20) == 0) {
        long sum = ask(adder::sum);
        if (sum < last || sum < i) {
          return "after " + i + " and a sum of " + last + " the sum is " + sum;
        }
        last = sum;
      }
    }
    return "added";
  }

  /** Generators keep what is left of their blocks. */
  private final Map<String, RIdGenerator> generators = new ConcurrentHashMap<>();

  private RIdGenerator generator(String name) {
    return generators.computeIfAbsent(name, redisson::getIdGenerator);
  }

  private RLock lock(String kind, String name) {
    return switch (kind) {
      case "lock" -> redisson.getLock(name);
      case "fair" -> redisson.getFairLock(name);
      case "fenced" -> redisson.getFencedLock(name);
      case "spin" -> redisson.getSpinLock(name);
      case "read" -> redisson.getReadWriteLock(name).readLock();
      case "write" -> redisson.getReadWriteLock(name).writeLock();
      case "multi" -> redisson.getMultiLock(redisson.getLock(name), redisson.getLock(name + "-too"));
      case "red" -> new RedissonRedLock(
          servers.stream().map(server -> server.getLock(name)).toArray(RLock[]::new));
      default -> throw new IllegalArgumentException(kind);
    };
  }

  /** What one who is in alone counts for; a reader counts for 1. */
  private static final long WRITER = 1000;

  private Object call(RLock lock, String method, long weight, String[] words) throws Exception {
    return switch (method) {
      case "isLocked" -> lock.isLocked();
      case "tryLock" -> lock.tryLock();
      case "section" -> { // Lock, stay until a latch is open, unlock.
        lock.lock();
        redisson.getCountDownLatch(words[3]).await();
        lock.unlock();
        yield "left";
      }
      case "contend" -> contend(lock, weight, redisson.getAtomicLong(words[3]), integer(words, 4));
      default -> "no such method";
    };
  }

  /** Enters and leaves for so many milliseconds. A number says who is in. */
  private static Object contend(RLock lock, long weight, RAtomicLong inside, int millis) throws Exception {
    long end = System.nanoTime() + Duration.ofMillis(millis).toNanos();
    int times = 0;
    for (; System.nanoTime() < end; times++) {
      lock.lock();
      long now = inside.addAndGet(weight);
      if (weight == WRITER ? now != WRITER : now >= WRITER) {
        return "overlap: " + now;
      }
      Thread.sleep(ThreadLocalRandom.current().nextInt(3));
      inside.addAndGet(-weight);
      lock.unlock();
      if (weight != WRITER) { // If readers overlapped all the time, writers would starve.
        Thread.sleep(ThreadLocalRandom.current().nextInt(40));
      }
    }
    return "contended " + times;
  }

  /** Netty warns of many timers, and each client has one. */
  private static final Logger TIMERS = Logger.getLogger("io.netty.util.HashedWheelTimer");

  static {
    TIMERS.setLevel(Level.OFF);
  }

  /** Clients of the first server, with connections of their own. They share the threads of the first client. */
  private final List<RedissonClient> clients = new ArrayList<>();

  private RedissonClient client(int i) {
    while (clients.size() <= i) {
      Config config = config();
      try {
        ServiceManager shared = ((Redisson) redisson).getServiceManager();
        config.setEventLoopGroup(shared.getGroup()).setExecutor(shared.getExecutor());
      } catch (LinkageError older) {
        // Each client has threads of its own.
      }
      config.useSingleServer().setAddress(redisson.getConfig().useSingleServer().getAddress())
          .setConnectionMinimumIdleSize(1);
      clients.add(Redisson.create(config));
    }
    return clients.get(i);
  }

  /** The threads that are measured, and others. They stay for a while, so the next turn need not start them. */
  private final ExecutorService threads = Executors.newCachedThreadPool();

  /**
   * Locks and unlocks in so many threads for so many milliseconds, each thread the lock of its number. Who still
   * waits so many milliseconds after that is stuck. All times of the answer are nanoseconds; of the waits it has
   * the percentiles from 0 to 100.
   */
  private synchronized Object measure(IntFunction<RLock> locks, String[] words) throws Exception {
    List<RLock> all = IntStream.range(0, integer(words, 3)).mapToObj(locks).toList();
    long usedBefore = processorNanos();
    long start = System.nanoTime();
    long end = start + TimeUnit.MILLISECONDS.toNanos(integer(words, 4));
    long last = end + TimeUnit.MILLISECONDS.toNanos(integer(words, 5));
    List<Share> shares = new ArrayList<>();
    for (Future<Share> share : threads.invokeAll(
        all.stream().map(lock -> (Callable<Share>) () -> take(lock, end, last)).toList())) {
      shares.add(share.get());
    }
    long took = System.nanoTime() - start;
    long used = processorNanos() - usedBefore;
    long[] waits = shares.stream().flatMapToLong(share -> Arrays.stream(share.waits)).sorted().toArray();
    LongSummaryStatistics served = shares.stream().mapToLong(Share::served).summaryStatistics();
    return String.format(
        "{\"ops\":%d,\"took\":%d,\"processor\":%d,\"least\":%d,\"most\":%d,\"stuck\":%d,\"waits\":%s}",
        waits.length, took, used, served.getMin(), served.getMax(),
        shares.stream().filter(Share::stuck).count(), Arrays.toString(percentiles(waits)));
  }

  /** What one thread did: how often it had the lock in time, how long it waited each time, and if it still waits. */
  private record Share(long served, long[] waits, boolean stuck) {}

  private static Share take(RLock lock, long end, long last) throws Exception {
    LongStream.Builder waits = LongStream.builder();
    long served = 0;
    for (long begin; (begin = System.nanoTime()) < end; ) {
      if (!lock.tryLock(last - begin, TimeUnit.NANOSECONDS)) {
        return new Share(served, waits.build().toArray(), true);
      }
      long now = System.nanoTime();
      waits.add(now - begin);
      served += now < end ? 1 : 0;
      lock.unlock();
    }
    return new Share(served, waits.build().toArray(), false);
  }

  /** The percentiles from 0 to 100 of what is sorted; none of nothing. */
  private static long[] percentiles(long[] sorted) {
    int n = sorted.length;
    return n == 0 ? sorted : IntStream.rangeClosed(0, 100).mapToLong(p -> sorted[(int) Math.min(n - 1, (long) n * p / 100)])
        .toArray();
  }

  /** How long this process has used processors. */
  private static long processorNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  private static int integer(String[] words, int place) {
    return Integer.parseInt(words[place]);
  }
}
