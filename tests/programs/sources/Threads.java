// Threads, direct buffers, deflate (zlib's own malloc), class loading and compilation; prints one checksum.
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
import java.util.zip.*;

public class Threads {
    static byte[] deflated(byte[] plain, int level) {
        Deflater deflater = new Deflater(level);
        deflater.setInput(plain);
        deflater.finish();
        byte[] room = new byte[plain.length + 1000];
        int size = deflater.deflate(room);
        deflater.end();
        return Arrays.copyOf(room, size);
    }

    static byte[] inflated(byte[] packed, int size) throws DataFormatException {
        Inflater inflater = new Inflater();
        inflater.setInput(packed);
        byte[] plain = new byte[size];
        if (inflater.inflate(plain) != size) throw new DataFormatException("short");
        inflater.end();
        return plain;
    }

    static long work(int number) throws Exception {
        Random random = new Random(number);
        CRC32 crc = new CRC32();
        List<ByteBuffer> held = new ArrayList<>();
        for (int i = 0; i < 150; i++) {
            byte[] bytes = new byte[1000 + random.nextInt(60000)];
            for (int b = 0; b < bytes.length; b++) bytes[b] = (byte) (random.nextInt(16) * number);
            byte[] packed = deflated(bytes, 1 + i % 9);
            if (!Arrays.equals(bytes, inflated(packed, bytes.length))) throw new Exception("differs");
            crc.update(bytes);
            ByteBuffer direct = ByteBuffer.allocateDirect(1 + random.nextInt(200000));
            while (direct.remaining() >= 8) direct.putLong(number * 31L + direct.position());
            direct.flip();
            crc.update(direct);
            held.add(direct);
            if (held.size() > 20) held.remove(random.nextInt(20));
        }
        return crc.getValue();
    }

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(16);
        List<Future<Long>> results = new ArrayList<>();
        for (int i = 0; i < 32; i++) { int number = i; results.add(pool.submit(() -> work(number))); }
        long sum = 0;
        for (Future<Long> result : results) sum = sum * 31 + result.get();
        pool.shutdown();
        Thread[] shortLived = new Thread[500];
        ConcurrentHashMap<Integer, String> map = new ConcurrentHashMap<>();
        for (int i = 0; i < shortLived.length; i++) {
            int number = i;
            shortLived[i] = new Thread(() -> map.put(number, "x".repeat(number)));
            shortLived[i].start();
        }
        for (Thread thread : shortLived) thread.join();
        long letters = map.values().stream().mapToLong(String::length).sum();
        String joined = IntStream.range(0, 20000).parallel().mapToObj(Integer::toHexString).collect(Collectors.joining(","));
        CRC32 crc = new CRC32();
        crc.update(joined.getBytes(StandardCharsets.UTF_8));
        Process child = new ProcessBuilder("echo", "child").start();
        String line = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
        System.out.printf("%016x %d %08x %s %d%n", sum, letters, crc.getValue(), line, child.waitFor());
    }
}
