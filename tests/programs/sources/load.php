<?php
// Hashes, strings, regular expressions, serialisation, cycles; prints one checksum.
ini_set('memory_limit', '1G');
$seed = 12345;
function draw() { global $seed; $seed = ($seed * 1103515245 + 12345) % 2147483648; return $seed >> 8; }

$count = [];
$lines = [];
for ($i = 0; $i < 800000; $i++) {
    $word = '';
    for ($n = 3 + draw() % 9; $n > 0; $n--) { $word .= chr(97 + draw() % 26); }
    $count[substr($word, 0, 2)][] = $word;
    if ($i % 3 == 0) { $lines[] = "$i:$word"; }
    if ($i % 50 == 0) { unset($count[chr(97 + draw() % 26) . chr(97 + draw() % 26)]); }
}
$text = implode("\n", $lines);
$matches = preg_match_all('/^\d+:([aeiou]\w*)$/m', $text);
$changed = preg_replace_callback('/(\d+):(\w)(\w*)/', fn($m) => "$m[2]-$m[1]-" . strtoupper($m[3]), $text);
$growing = '';
for ($i = 0; $i < 30000; $i++) { $growing .= str_repeat((string)$i, $i % 17); }
$again = unserialize(serialize($count));
$nodes = 0;
for ($i = 0; $i < 50000; $i++) { $a = new stdClass; $b = new stdClass; $a->b = $b; $b->a = $a; $nodes++; }
$collected = gc_collect_cycles() >= 0;
ksort($count);
echo md5("$matches|$changed|$growing|" . json_encode($count) . "|" . ($again == $count) . "|$nodes|$collected"), "\n";
