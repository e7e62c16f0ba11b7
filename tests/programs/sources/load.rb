# Hashes, strings, garbage collection, regular expressions, threads, fork; prints one checksum.
require "digest"

seed = 12345
draw = -> { seed = (seed * 1103515245 + 12345) % 2147483648; seed >> 8 }

count = Hash.new { |hash, key| hash[key] = [] }
lines = []
400_000.times do |i|
  word = Array.new(3 + draw.call % 9) { (97 + draw.call % 26).chr }.join
  count[word[0, 2]] << word
  lines << "#{i}:#{word}" if i % 3 == 0
  count.delete((97 + draw.call % 26).chr * 2) if i % 50 == 0
  GC.start if i % 100_000 == 99_999
end
text = lines.join("\n")
changed = text.gsub(/(\d+):(\w)(\w*)/) { "#{$2}-#{$1}-#{$3.upcase}" }
growing = +""
20_000.times { |i| growing << (i.to_s * (i % 17)) }
parts = count.map { |key, words| "#{words.size}#{key}" }.sort
threads = Array.new(8) do |t|
  Thread.new { Array.new(20_000) { |i| (i * t).to_s * 3 }.sum(&:size) }
end
sums = threads.map(&:value)
GC.compact if GC.respond_to?(:compact)
reader, writer = IO.pipe
child = fork { writer.write Digest::MD5.hexdigest(changed); exit!(0) }
writer.close
Process.wait(child)
raise "child failed" unless $?.success?
puts Digest::MD5.hexdigest([text.scan(/:[aeiou]\w*$/).size, changed, growing, parts, sums, reader.read].inspect)
