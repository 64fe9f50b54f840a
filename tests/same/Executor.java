// SPDX-License-Identifier: BSD-3-Clause
import java.util.*;
import java.util.concurrent.*;

public class Executor {
	static int racy;

	public static void main(String[] args) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(6);
		List<Future<String>> futures = new ArrayList<>();
		List<Integer> order = Collections.synchronizedList(new ArrayList<>());
		for (int n = 0; n < 30; n++) {
			int number = n;
			futures.add(pool.submit(() -> {
				for (int i = 0; i < 2000; i++)
					racy++;
				order.add(number);
				Thread.sleep(number % 7);
				return number + " " + Thread.currentThread().getName() + " " + System.nanoTime() + " " + UUID.randomUUID();
			}));
		}
		for (Future<String> future : futures)
			System.out.println(future.get());
		pool.shutdown();
		System.out.println(pool.awaitTermination(1, TimeUnit.SECONDS) + " " + racy + " " + order);
		ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
		CountDownLatch latch = new CountDownLatch(5);
		timer.scheduleAtFixedRate(() -> { System.out.println("tick " + System.currentTimeMillis()); latch.countDown(); }, 3, 11,
			TimeUnit.MILLISECONDS);
		latch.await();
		timer.shutdownNow();
		System.out.println(new Object().hashCode() + " " + Math.random() + " " + ProcessHandle.current().pid() + " "
			+ new Random().nextInt() + " " + ForkJoinPool.commonPool().getParallelism() + " " + Runtime.getRuntime().maxMemory());
	}
}
