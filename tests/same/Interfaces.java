// SPDX-License-Identifier: BSD-3-Clause
import java.net.NetworkInterface;
import java.util.Arrays;
import java.util.Collections;

public class Interfaces {
	public static void main(String[] args) throws Exception {
		for (NetworkInterface one : Collections.list(NetworkInterface.getNetworkInterfaces()))
			System.out.println(one.getIndex() + " " + one.getName() + " " + one.getMTU() + " " + one.isUp() + " " + one.isLoopback() +
					   " " + Arrays.toString(one.getHardwareAddress()) + " " + one.getInterfaceAddresses());
	}
}
