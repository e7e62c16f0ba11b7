# Hashes, strings, sorting, regular expressions and closures; prints one checksum.
use strict;
use warnings;
use Digest::MD5 qw(md5_hex);

my $seed = 12345;
sub draw { $seed = ($seed * 1103515245 + 12345) % 2147483648; return $seed >> 8 }

my %count;
my @lines;
for my $i (1 .. 500_000) {
    my $word = join '', map { chr(97 + draw() % 26) } 1 .. 3 + draw() % 9;
    push @{ $count{ substr($word, 0, 2) } }, $word;
    push @lines, "$i:$word" if $i % 3 == 0;
    delete $count{ chr(97 + draw() % 26) . chr(97 + draw() % 26) } if $i % 50 == 0;
}
my $text = join "\n", @lines;
my $matches = () = $text =~ /^\d+:([aeiou]\w*)$/mg;
(my $changed = $text) =~ s/(\d+):(\w)(\w*)/$2-$1-\U$3/g;
my $growing = '';
$growing .= $_ x ($_ % 17) for 1 .. 30_000;
my @parts = sort map { scalar(@{ $count{$_} }) . $_ } keys %count;
my @closures = map { my $n = $_; sub { $n += shift } } 1 .. 5_000;
my $sum = 0;
$sum += $_->(3) for @closures;
my $child = open(my $pipe, '-|') // die "fork: $!";
if (!$child) { print md5_hex($changed); exit 0 }
my $from_child = <$pipe>;
close $pipe or die "child: $?";
print md5_hex("$matches|$changed|$growing|@parts|$sum|$from_child"), "\n";
