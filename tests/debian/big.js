// Of QuickJS: big numbers, garbage, regular expressions, files.
console.log(2n ** 100n, [3, 1, 2].sort().map(x => x * x).join());
let garbage = 0;
for (let i = 0; i < 20000; i++) garbage += { list: [i, String(i)] }.list.length;
console.log(garbage, "tally".replace(/l+/g, m => m.toUpperCase()), Math.hypot(3, 4));
import * as std from "std";
const file = std.open("/tmp/js", "w+");
file.puts("é\n");
file.seek(0, std.SEEK_SET);
console.log(file.getline().length, std.getenv("none"));
