// Knex's migrations, Sequelize's models and TypeORM's entities on a server: what each does and finds.
import knex from 'knex';
import { Sequelize, DataTypes, Op, UniqueConstraintError, ForeignKeyConstraintError } from 'sequelize';
import typeorm from 'typeorm';
import mysql from 'mysql2/promise';

const [port, user, password] = process.argv.slice(2);
const at = { host: '127.0.0.1', port: Number(port), user, password };
const say = (...words) => console.log(...words.map((w) => (typeof w === 'object' ? JSON.stringify(w) : w)));
const failed = async (what, promise) => {
  try { await promise; say(what, 'no error'); } catch (e) { say(what, e.code ?? e.original?.code ?? e.name, e.errno ?? e.original?.errno); }
};

async function knexPlay() {
  const db = knex({ client: 'mysql2', connection: { ...at, database: 'knexed', timezone: 'Z' }, pool: { min: 1, max: 4 } });
  const migrations = {
    '01_tables': {
      async up(k) {
        await k.schema.createTable('authors', (t) => {
          t.increments(); t.string('name', 80).notNullable().index(); t.json('extra'); t.timestamps(true, true); t.uuid('uid').unique();
          t.enu('kind', ['poet', 'novelist']).defaultTo('poet'); t.decimal('fee', 10, 2).defaultTo(1.25); t.comment('who writes');
        });
        await k.schema.createTable('books', (t) => {
          t.bigIncrements(); t.integer('author_id').unsigned().notNullable().references('authors.id').onDelete('CASCADE').onUpdate('CASCADE');
          t.string('title').notNullable(); t.text('text', 'longtext'); t.boolean('lent').defaultTo(false); t.date('printed'); t.unique(['author_id', 'title']);
        });
      },
      async down(k) { await k.schema.dropTable('books'); await k.schema.dropTable('authors'); },
    },
    '02_changes': {
      async up(k) {
        await k.schema.alterTable('books', (t) => { t.integer('pages').after('title'); t.renameColumn('lent', 'away'); t.string('title', 120).notNullable().alter(); t.dropColumn('text'); });
        await k.schema.createView('short', (v) => { v.columns(['title', 'name']); v.as(k('books').join('authors', 'authors.id', 'books.author_id').select('title', 'name').where('pages', '<', 100)); });
      },
      async down(k) {
        await k.schema.dropView('short');
        await k.schema.alterTable('books', (t) => { t.dropColumn('pages'); t.renameColumn('away', 'lent'); t.text('text', 'longtext'); });
      },
    },
  };
  const source = { getMigrations: async () => Object.keys(migrations), getMigrationName: (m) => m, getMigration: async (m) => migrations[m] };
  say('knex up', (await db.migrate.up({ migrationSource: source }))[1]);
  say('knex latest', (await db.migrate.latest({ migrationSource: source }))[1]);
  const ids = await db('authors').insert({ name: 'Ada', extra: JSON.stringify({ a: [1, { b: 'c' }] }), uid: '11111111-2222-3333-4444-555555555555' });
  await db.batchInsert('books', Array.from({ length: 120 }, (_, i) => ({ author_id: ids[0], title: `book ${i}`, pages: i * 3, printed: '2001-02-03' })), 50);
  say(await db('short').count('* as n').first());
  say(await db('books').select('title').where('pages', '>', 100).andWhere((q) => q.where('title', 'like', '%9').orWhereIn('pages', [102, 105])).orderBy('id').pluck('title'));
  say(await db('books').insert({ author_id: ids[0], title: 'book 1', pages: 7 }).onConflict().merge(['pages']));
  say(await db('books').max('pages as most').sum('pages as all').avg('pages as mean').first());
  say(await db.with('few', db('books').limit(3).orderBy('id')).select('title', db.raw('row_number() over (order by id desc) as place')).from('few').orderBy('place'));
  say((await db('authors').jsonExtract('extra', '$.a[1].b', 'found').first()).found);
  await failed('no author', db('books').insert({ author_id: 99, title: 'x' }));
  await failed('twice', db('books').insert({ author_id: ids[0], title: 'book 2' }));
  await failed('transaction', db.transaction(async (t) => { await t('books').where('pages', '<', 30).del(); throw new Error('on purpose'); }));
  say(await db('books').count('* as n').first());
  say(Object.entries(await db('books').columnInfo()).map(([n, c]) => [n, c.type, c.maxLength, c.nullable]));
  const streamed = []; for await (const row of db('books').select('id').where('pages', '<', 10).stream()) streamed.push(row.id);
  say(streamed.length);
  say('knex down', (await db.migrate.rollback({ migrationSource: source }))[1], (await db.migrate.list({ migrationSource: source })).map((l) => l.length));
  say('knex down', (await db.migrate.rollback({ migrationSource: source }, true))[1], await db.schema.hasTable('authors'));
  await db.destroy();
}

async function sequelizePlay() {
  const db = new Sequelize('sequelized', user, password, { ...at, dialect: 'mysql', logging: false, timezone: '+00:00' });
  const User = db.define('user', {
    name: { type: DataTypes.STRING(60), allowNull: false, unique: 'one_name' }, born: DataTypes.DATEONLY, seen: DataTypes.DATE(6), points: { type: DataTypes.DECIMAL(8, 2), defaultValue: 0 },
    tags: DataTypes.JSON, kind: DataTypes.ENUM('a', 'b'), raw: DataTypes.BLOB, upper: { type: DataTypes.VIRTUAL, get() { return this.name.toUpperCase(); } },
  }, { paranoid: true, indexes: [{ fields: ['kind', 'points'] }] });
  const Group = db.define('group', { title: DataTypes.STRING }, { timestamps: false });
  const Post = db.define('post', { text: DataTypes.TEXT }, { version: true });
  User.hasMany(Post, { onDelete: 'CASCADE' }); Post.belongsTo(User);
  User.belongsToMany(Group, { through: 'members' }); Group.belongsToMany(User, { through: 'members' });
  await db.sync(); await db.sync({ alter: true });
  const ada = await User.create({ name: 'Ada', born: '1815-12-10', seen: new Date(Date.UTC(2020, 1, 2, 3, 4, 5, 678)), tags: { x: [1, 2] }, kind: 'a', raw: Buffer.from([0, 255]), posts: [{ text: 'one' }, { text: 'two' }] }, { include: [Post] });
  await User.bulkCreate(Array.from({ length: 40 }, (_, i) => ({ name: `n${i}`, points: i, kind: i % 2 ? 'a' : 'b' })));
  await ada.addGroups(await Group.bulkCreate([{ title: 'g1' }, { title: 'g2' }]));
  const found = await User.findOne({ where: { name: 'Ada' }, include: [Post, Group], order: [[Post, 'text', 'ASC'], [Group, 'id', 'ASC']] });
  say(found.upper, found.born, found.seen.toISOString(), found.tags, [...found.raw], found.posts.map((p) => p.text), found.groups.map((g) => g.title));
  say((await User.findAndCountAll({ where: { points: { [Op.gt]: 10 }, [Op.or]: [{ kind: 'a' }, { name: { [Op.like]: '%0' } }] }, limit: 3, order: ['points'] })).rows.map((u) => u.name));
  say(await User.count({ where: Sequelize.where(Sequelize.json('tags.x[1]'), 2) }));
  say((await User.findAll({ attributes: ['kind', [Sequelize.fn('COUNT', '*'), 'n'], [Sequelize.fn('SUM', Sequelize.col('points')), 'all']], group: 'kind', order: ['kind'], raw: true })).map((r) => [r.kind, r.n, r.all]));
  await User.increment({ points: 5 }, { where: { kind: 'b' } });
  say(await User.sum('points'));
  say(await User.upsert({ id: ada.id, name: 'Ada', points: 7 }).then(([, made]) => made));
  say(await User.destroy({ where: { points: { [Op.lt]: 6 } } }), await User.count(), await User.count({ paranoid: false }), await User.restore());
  try { await User.create({ name: 'Ada' }); } catch (e) { say('unique', e instanceof UniqueConstraintError, e.fields); }
  try { await Post.create({ userId: 9999 }); } catch (e) { say('foreign', e instanceof ForeignKeyConstraintError, e.table, e.fields); }
  await failed('rolled back', db.transaction(async (transaction) => { await Post.destroy({ where: {}, transaction }); throw new RangeError('on purpose'); }));
  const t = await db.transaction({ isolationLevel: Sequelize.Transaction.ISOLATION_LEVELS.READ_COMMITTED });
  const locked = await User.findByPk(ada.id, { lock: t.LOCK.UPDATE, transaction: t }); await locked.update({ points: 1 }, { transaction: t }); await t.commit();
  const post = await Post.findOne(); await Post.update({ text: 'newer' }, { where: { id: post.id } }); post.text = 'x'; await post.save();
  const q = db.getQueryInterface();
  say(Object.entries(await q.describeTable('users')).map(([n, c]) => [n, c.type.replace('LONGTEXT', 'JSON'), c.allowNull, c.primaryKey]));
  say((await q.showIndex('users')).map((i) => [i.name, i.unique, i.fields.map((f) => f.attribute)]));
  say((await q.getForeignKeyReferencesForTable('posts')).map((f) => [f.constraintName, f.columnName, f.referencedTableName, f.referencedColumnName]));
  await q.addColumn('posts', 'extra', { type: DataTypes.STRING, defaultValue: 'e', after: 'text' }); await q.renameColumn('posts', 'extra', 'more'); await q.changeColumn('posts', 'more', { type: DataTypes.TEXT });
  await q.renameColumn('posts', 'userId', 'writerId');
  say((await q.getForeignKeyReferencesForTable('posts')).map((f) => [f.columnName, f.referencedColumnName]));
  await q.removeColumn('posts', 'more'); await q.renameTable('posts', 'letters'); say((await q.showAllTables()).map((x) => x.tableName ?? x).sort());
  await q.dropTable('letters'); await db.drop(); await q.dropAllTables(); say((await q.showAllTables()).length);
  await db.close();
}

async function typeormPlay() {
  const { DataSource, EntitySchema, Table, TableColumn, TableForeignKey } = typeorm;
  const Animal = new EntitySchema({ name: 'animal', columns: { id: { type: Number, primary: true, generated: true }, name: { type: String, length: 50, unique: true }, born: { type: 'datetime', precision: 6, nullable: true }, made: { type: Date, createDate: true }, facts: { type: 'simple-json', nullable: true }, legs: { type: 'tinyint', unsigned: true, default: 4 } }, relations: { keeper: { type: 'many-to-one', target: 'keeper', inverseSide: 'animals', nullable: true, onDelete: 'SET NULL' } }, indices: [{ name: 'by_legs', columns: ['legs', 'name'] }] });
  const Keeper = new EntitySchema({ name: 'keeper', columns: { id: { type: 'uuid', primary: true, generated: 'uuid' }, name: { type: String }, version: { type: Number, version: true } }, relations: { animals: { type: 'one-to-many', target: 'animal', inverseSide: 'keeper', cascade: true } } });
  class First1700000000001 {
    async up(r) {
      await r.createTable(new Table({ name: 'visit', columns: [{ name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' }, { name: 'animal', type: 'int', isNullable: true }, { name: 'at', type: 'timestamp', default: 'now()' }] }), true);
      await r.createForeignKey('visit', new TableForeignKey({ columnNames: ['animal'], referencedTableName: 'animal', referencedColumnNames: ['id'], onDelete: 'CASCADE' }));
    }
    async down(r) { await r.dropTable('visit'); }
  }
  class Second1700000000002 {
    async up(r) { await r.addColumn('visit', new TableColumn({ name: 'note', type: 'varchar', length: '30', isNullable: true })); await r.renameColumn('visit', 'animal', 'visited'); await r.query("INSERT INTO visit (visited, note) VALUES (1, 'x')"); }
    async down(r) { await r.renameColumn('visit', 'visited', 'animal'); await r.dropColumn('visit', 'note'); }
  }
  const db = await new DataSource({ type: real.includes('MariaDB') ? 'mariadb' : 'mysql', ...at, username: user, database: 'typeormed', entities: [Animal, Keeper], migrations: [First1700000000001, Second1700000000002], synchronize: false, timezone: 'Z' }).initialize();
  const planned = await db.driver.createSchemaBuilder().log(); if (planned.upQueries.length < 3) throw new Error('tables are missing');
  await db.synchronize();
  say('then', (await db.driver.createSchemaBuilder().log()).upQueries.map((x) => x.query.slice(0, 60)));
  const animals = db.getRepository('animal'), keepers = db.getRepository('keeper');
  const keeper = await keepers.save({ name: 'Kim', animals: [{ name: 'Rex', facts: { good: true } }, { name: 'Tweety', legs: 2 }] });
  await animals.insert(Array.from({ length: 30 }, (_, i) => ({ name: `fish ${i}`, legs: 0 })));
  say((await db.runMigrations()).map((m) => m.name));
  say((await keepers.find({ relations: ['animals'], order: { animals: { id: 'ASC' } } })).map((k) => [k.name, k.version, k.animals.map((x) => [x.name, x.legs, x.facts])]));
  say(await animals.createQueryBuilder('a').leftJoin('a.keeper', 'k').select('COUNT(*)', 'n').addSelect('k.name', 'keeper').groupBy('k.name').orderBy('n', 'DESC').getRawMany());
  keeper.name = 'Kay'; say((await keepers.save(keeper)).version);
  say((await animals.upsert([{ name: 'Rex', legs: 3 }, { name: 'new', legs: 1 }], ['name'])).identifiers.length, (await animals.findOneBy({ name: 'Rex' })).legs);
  await failed('twice', animals.insert({ name: 'Rex' }));
  await failed('transaction', db.transaction('SERIALIZABLE', async (m) => { await m.delete('animal', {}); throw new RangeError('on purpose'); }));
  say(await animals.count(), (await keepers.delete({ name: 'Kay' })).affected, await animals.countBy({ keeper: typeorm.IsNull() }));
  await db.undoLastMigration(); await db.undoLastMigration(); await db.dropDatabase();
  say((await db.query("SELECT COUNT(*) AS n FROM information_schema.tables WHERE table_schema = 'typeormed'"))[0]);
  await db.destroy();
}

const root = await mysql.createConnection(at);
for (const name of ['knexed', 'sequelized', 'typeormed']) await root.query(`CREATE DATABASE ${name} DEFAULT CHARACTER SET utf8mb4`);
const real = (await root.query('SELECT VERSION() AS v'))[0][0].v;
await root.end();
for (const play of [knexPlay, sequelizePlay, typeormPlay]) { say(`# ${play.name}`); try { await play(); } catch (e) { say('failed', e.message, e.sql ?? e.query ?? e.parent?.sql ?? ''); process.exitCode = 1; } }
process.exit();
