<?php
// MediaWiki: what people do with a wiki, through its own API, as an account or as nobody.
// Arguments: MediaWiki's folder, `short` or `long`. MW_CONFIG_FILE names the settings that its installer wrote.
use MediaWiki\MediaWikiServices;

require_once $argv[1] . '/maintenance/Maintenance.php';

class Play extends Maintenance {
    private $user;

    public function __construct() {
        parent::__construct();
        $this->addArg('extent', '');
    }

    private static function say($what, $value) {
        echo "$what: ", json_encode($value, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES), "\n";
    }

    /** One call of the API; its result without what the clock has to do with. */
    private function api(array $parameters, $post = false) {
        $session = RequestContext::getMain()->getRequest()->getSession();
        $request = new FauxRequest($parameters, $post, $session);
        if ($post) {
            $salt = $parameters['action'] === 'watch' ? 'watch' : '';
            $request->setVal('token', ApiQueryTokens::getToken($this->user, $request->getSession(), $salt)->toString());
        }
        $context = new DerivativeContext(RequestContext::getMain());
        $context->setRequest($request);
        $context->setUser($this->user);
        try {
            $api = new ApiMain($context, true);
            $api->execute();
            $data = $api->getResult()->getResultData(null, ['Strip' => 'all', 'BC' => []]);
        } catch (ApiUsageException $e) {
            return 'error: ' . $e->getMessageObject()->getKey();
        }
        MediaWikiServices::getInstance()->getDBLoadBalancerFactory()->commitPrimaryChanges(__METHOD__);
        DeferredUpdates::doUpdates();
        return self::timeless($data);
    }

    private static function timeless($value) {
        if (!is_array($value)) {
            return $value;
        }
        $kept = array_diff_key($value, array_flip(['timestamp', 'newtimestamp', 'touched', 'batchcomplete', 'registration', 'continue',
            'starttimestamp', 'curtimestamp', 'limits', 'expiry']));
        return array_map([self::class, 'timeless'], $kept);
    }

    private function query($what, array $parameters) {
        self::say($what, $this->api(['action' => 'query'] + $parameters)['query'] ?? null);
    }

    private function edit($title, $text, array $more = []) {
        return $this->api(['action' => 'edit', 'title' => $title, 'text' => $text] + $more, true);
    }

    public function execute() {
        $count = $this->getArg(0) === 'long' ? 200 : 12;
        $services = MediaWikiServices::getInstance();
        $this->user = $services->getUserFactory()->newFromName('Admin');
        $other = $services->getUserFactory()->newFromName('Ada Größe');
        $other->addToDatabase();
        $services->getUserGroupManager()->addUserToGroup($other, 'bureaucrat');
        self::say('accounts', [$this->user->getId(), $other->getId(), $other->isAllowed('userrights')]);

        for ($i = 0; $i < $count; $i++) {
            $kind = ['Wal', 'Delphin', '小さなイルカ', 'Größe'][$i % 4];
            $next = ($i + 1) % $count;
            self::say("edit $i", $this->edit("Seite $i", "Ein Text über '''$kind''' 🐬.\n\n[[Seite $next|weiter]] [[Fehlt $i]] {{Vorlage|$i}}\n"
                . "[[Category:$kind]] [https://example.org/$i link] [[File:x$i.png]]\n" . str_repeat("Absatz. ", $i * 20), ['summary' => "Zusammenfassung $i"]));
        }
        self::say('template', $this->edit('Template:Vorlage', 'Vorlage mit {{{1}}} [[Hauptseite]]'));
        self::say('redirect', $this->edit('Weiter', '#REDIRECT [[Seite 1]]'));
        self::say('category', $this->edit('Category:Wal', 'Alle Wale. [[Category:Tiere]]'));
        for ($i = 0; $i < 5; $i++) {
            $this->user = $i % 2 ? $other : $services->getUserFactory()->newFromName('Admin');
            self::say("again $i", $this->edit('Seite 1', "Fassung $i\n\n== Abschnitt ==\nText\n[[Category:Wal]]", ['minor' => $i % 2]));
        }
        $this->user = $services->getUserFactory()->newFromName('Admin');
        self::say('undo', $this->api(['action' => 'edit', 'title' => 'Seite 1', 'undo' => $this->latest('Seite 1')], true));
        self::say('section', $this->api(['action' => 'edit', 'title' => 'Seite 1', 'section' => 'new', 'sectiontitle' => 'Neu', 'text' => 'x'], true));
        self::say('refused', $this->edit('Seite 2', 'x', ['createonly' => 1]));
        self::say('moved', $this->api(['action' => 'move', 'from' => 'Seite 3', 'to' => 'Seite drei', 'reason' => 'besser', 'movetalk' => 1], true));
        self::say('deleted', $this->api(['action' => 'delete', 'title' => 'Seite 4', 'reason' => 'weg'], true));
        self::say('undeleted', $this->api(['action' => 'undelete', 'title' => 'Seite 4', 'reason' => 'doch'], true));
        self::say('deleted', $this->api(['action' => 'delete', 'title' => 'Seite 5'], true));
        self::say('protected', $this->api(['action' => 'protect', 'title' => 'Seite 6', 'protections' => 'edit=sysop|move=sysop'], true));
        self::say('watched', $this->api(['action' => 'watch', 'titles' => 'Seite 6|Seite 7'], true));
        self::say('blocked', $this->api(['action' => 'block', 'user' => 'Ada Größe', 'reason' => 'Test', 'nocreate' => 1], true));
        $this->user = $services->getUserFactory()->newFromName('Ada Größe');
        self::say('refused', $this->edit('Seite 7', 'x'));
        $this->user = $services->getUserFactory()->newFromName('Admin');
        self::say('unblocked', $this->api(['action' => 'unblock', 'user' => 'Ada Größe'], true));
        self::say('blocked', $this->api(['action' => 'block', 'user' => '192.168.0.0/20', 'reason' => 'Netz'], true));
        $services->getUserOptionsManager()->setOption($other, 'language', 'de');
        $services->getUserOptionsManager()->saveOptions($other);

        // Links, categories and counters of pages are brought up to date by jobs.
        $runner = $services->getJobRunner();
        self::say('jobs', ($runner->run(['type' => false, 'maxJobs' => 1000, 'maxTime' => 100, 'throttle' => false]))['reached'] ?? null);

        $this->query('pages', ['list' => 'allpages', 'aplimit' => 20, 'apfilterredir' => 'nonredirects']);
        $this->query('prefix', ['list' => 'allpages', 'apprefix' => 'Seite 1', 'apdir' => 'descending']);
        $this->query('categories', ['list' => 'allcategories', 'acprop' => 'size']);
        $this->query('members', ['list' => 'categorymembers', 'cmtitle' => 'Category:Wal', 'cmprop' => 'ids|title|sortkeyprefix|type', 'cmlimit' => 5]);
        $this->query('back', ['list' => 'backlinks', 'bltitle' => 'Seite 1', 'blredirect' => 1]);
        $this->query('embedded', ['list' => 'embeddedin', 'eititle' => 'Template:Vorlage', 'eilimit' => 7]);
        $this->query('images', ['list' => 'imageusage', 'iutitle' => 'File:x2.png']);
        $this->query('outside', ['list' => 'exturlusage', 'euquery' => 'example.org', 'eulimit' => 5]);
        $this->query('recent', ['list' => 'recentchanges', 'rcprop' => 'title|ids|user|flags|comment|sizes|loginfo', 'rclimit' => 30]);
        $this->query('log', ['list' => 'logevents', 'leprop' => 'ids|title|type|user|comment|details', 'lelimit' => 30]);
        $this->query('contributions', ['list' => 'usercontribs', 'ucuser' => 'Ada Größe', 'ucprop' => 'ids|title|size|flags|comment']);
        $this->query('watchlist', ['list' => 'watchlistraw']);
        $this->query('users', ['list' => 'allusers', 'auprop' => 'groups|editcount|blockinfo']);
        $this->query('blocks', ['list' => 'blocks', 'bkprop' => 'id|user|by|reason|range|flags', 'bkip' => '192.168.3.4']);
        $this->query('deleted', ['list' => 'deletedrevs', 'titles' => 'Seite 5', 'drprop' => 'user|comment|len']);
        $this->query('revisions', ['prop' => 'revisions', 'titles' => 'Seite 1', 'rvprop' => 'ids|user|comment|size|flags|sha1', 'rvlimit' => 20]);
        $this->query('content', ['prop' => 'revisions|links|categories|templates|info|extlinks', 'titles' => 'Seite 1|Seite 2|Weiter', 'rvprop' => 'content',
            'rvslots' => 'main', 'redirects' => 1, 'inprop' => 'protection|watched']);
        $this->query('statistics', ['meta' => 'siteinfo', 'siprop' => 'statistics']);
        foreach (['Wantedpages', 'Mostlinked', 'Lonelypages', 'Shortpages', 'Uncategorizedpages', 'Mostcategories', 'DoubleRedirects'] as $page) {
            $listed = $this->api(['action' => 'query', 'list' => 'querypage', 'qppage' => $page, 'qplimit' => 500]);
            // Of pages that are as wanted or linked as others nobody says which come first.
            $results = array_map('json_encode', $listed['query']['querypage']['results'] ?? []);
            sort($results);
            self::say($page, $results);
        }
        foreach (['Fassung', 'Absatz', 'weiter +Delphin', 'Seite -Delphin', 'Größe', '"Alle Wale"', 'Zusammen*', 'nirgends'] as $words) {
            foreach (['text', 'title'] as $what) {
                $found = $this->api(['action' => 'query', 'list' => 'search', 'srsearch' => $words, 'srwhat' => $what, 'srprop' => 'size|wordcount',
                    'srlimit' => 500, 'srinfo' => 'totalhits']);
                // No order is asked for.
                $results = array_map('json_encode', $found['query']['search'] ?? []);
                sort($results);
                self::say("search $what $words", $results);
            }
        }
        self::say('diff', md5(json_encode($this->api(['action' => 'compare', 'fromtitle' => 'Seite 1', 'totitle' => 'Seite 2']))));
        self::say('parsed', md5(json_encode($this->api(['action' => 'parse', 'page' => 'Seite 1', 'prop' => 'text|sections', 'disablelimitreport' => 1]))));
    }

    private function latest($title) {
        return Title::newFromText($title)->getLatestRevID(Title::READ_LATEST);
    }
}

$maintClass = Play::class;
array_splice($argv, 1, 1);
$_SERVER['argv'] = $argv;
require_once RUN_MAINTENANCE_IF_MAIN;
