// SPDX-License-Identifier: BSD-3-Clause
import java.util.*;
import java.util.concurrent.*;

public class Hello {
	public static void main(String[] arguments) throws Exception {
		System.out.println("hello " + ProcessHandle.current().pid() + " " + System.currentTimeMillis() + " " + new Random().nextLong());
		System.out.println(UUID.randomUUID() + " " + new Object().hashCode());
		ExecutorService pool = Executors.newFixedThreadPool(4);
		ConcurrentLinkedQueue<String> order = new ConcurrentLinkedQueue<>();
		for (int i = 0; i < 8; i++) {
			final int n = i;
			pool.submit(() -> { Thread.sleep((n * 7) % 5); order.add("task " + n); return 0; });
		}
		pool.shutdown();
		pool.awaitTermination(1, TimeUnit.MINUTES);
		System.out.println(order);
	}
}
