<?php
// Holds the lock of Laravel's cache as main.go holds those of Go, in one loop: holder.php LIBRARY SERVER REFEREE DELAY
foreach (['Contracts', 'Macroable', 'Collections', 'Support', 'Redis', 'Cache'] as $part) {
    require_once "Illuminate/$part/autoload.php";
}
require __DIR__ . '/laravel.php';

[, $library, $server, $referee, $delay] = $argv;
[$host, $port] = explode(':', $server);
$redis = new Illuminate\Redis\RedisManager(null, 'phpredis', ['default' => ['host' => $host, 'port' => (int) $port]]);
$cache = new Illuminate\Cache\Repository(new Illuminate\Cache\RedisStore($redis)); // without a prefix
$conn = stream_socket_client("unix://$referee");
$say = function ($text) use ($conn) {
    fwrite($conn, "$text\n");
    return fgets($conn) === "go\n";
};
$work = function () use ($say) {
    $say('in');
    usleep(1000);
    $say('out');
};

fwrite($conn, "$library " . getmypid() . "\n");
while ($say('begin')) {
    try {
        hold($cache, 'mutex:polyglot', $work, $delay ?: 250); // 250 ms is the default
    } catch (Exception $error) {
        $say('error ' . get_class($error) . ': ' . strtr($error->getMessage(), "\n", ' '));
    }
    usleep(5000);
}
